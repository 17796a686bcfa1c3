"""The repairs of a run as scripts: who may read which part, and what stands at their beginning and end."""

import pytest

from catalog.models import Report, ReportRow
from catalog.reports import registry
from tests import finished

KIND = "role_mapping_check"
GRANT, UNGRANT = 'GRANT SELECT ON TABLE "people" TO "reader";', 'REVOKE SELECT ON TABLE "people" FROM "reader";'
REVOKE, UNREVOKE = 'REVOKE SELECT ON TABLE "orders" FROM "ann";', 'GRANT SELECT ON TABLE "orders" TO "ann";'


@pytest.fixture
def run(manager, tmp_path):
    shared = {"export": "it's shop/1", "entity": None, "datasets": None, "role": None}
    rows = [
        {**shared, "key": "1", "sentence": "ann reads orders.", "repair": REVOKE, "inverse": UNREVOKE},
        {**shared, "key": "2", "sentence": "reader lacks people.", "repair": GRANT, "inverse": UNGRANT},
        {**shared, "key": "3", "sentence": "Somebody has to look.", "repair": "-- Look.", "inverse": ""},
        {**shared, "key": "4", "export": "snow", "repair": 'REVOKE SELECT ON TABLE "T" FROM ROLE "R";'},
    ]
    exports = [
        {"export": "it's shop/1", "dialect": "postgres", "problem": None},
        {"export": "snow", "dialect": "snowflake", "problem": None},
        {"export": "words", "dialect": None, "problem": None},
    ]
    return finished.ready(tmp_path, KIND, {"findings": rows, "exports": exports})


def read(client, run, **query):
    return client.get(f"/api/v1/reports/{run.pk}/script/", query)


def text_of(answer):
    return b"".join(answer.streaming_content).decode()


def test_a_script_has_the_repairs_of_one_export_in_an_order_that_works(manager, run):
    answer = read(manager, run, export="it's shop/1")
    assert answer["Content-Type"] == "application/sql; charset=utf-8"
    text = text_of(answer)
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "-- Repairs of the export it's shop/1 (postgres)."
    assert lines[1].startswith(f"-- From the run {run.pk} of the report Role mapping check")
    assert " UTC for urn:li:corpuser:" in lines[2]
    assert "-- 2 statements for 3 findings." in lines
    statements = [line for line in lines[: lines.index("COMMIT;")] if not line.startswith("--")]
    assert statements == ["BEGIN;", GRANT, REVOKE]
    assert text.index("-- Somebody has to look.\n-- Look.") > text.index("COMMIT;")
    assert """('gone', 'GRANT', 'SELECT', 'ON TABLE "orders"', '"ann"')""" in text
    back = text_of(read(manager, run, export="it's shop/1", which="inverse"))
    assert [line for line in back.splitlines() if line.startswith(("GRANT", "REVOKE"))] == [UNREVOKE, UNGRANT]
    assert 'SHOW GRANTS TO ROLE "R";' in text_of(read(manager, run, export="snow"))


def test_what_has_no_script_is_said(manager, run, tmp_path):
    for name in ("words", "none"):
        assert read(manager, run, export=name).status_code == 404
    assert read(manager, run).status_code == 400
    assert read(manager, run, export="snow", which="perhaps").status_code == 400
    assert read(manager, finished.failed(KIND, "No."), export="snow").status_code == 409
    # A run of an earlier release knows neither a dialect nor what takes a repair back.
    for table in registry.get_spec(run).tables:
        names = [column.name for column in table.columns]
        end = min(names.index(name) for name in ("dialect", "inverse", names[-1]) if name in names)
        for row in ReportRow.objects.filter(report=run, table=table.name):
            ReportRow.objects.filter(pk=row.pk).update(values=row.values[:end])
    assert read(manager, run, export="snow").status_code == 404
    assert Report.objects.filter(pk=run.pk).exists()
