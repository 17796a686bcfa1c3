"""The tables of a finished run: narrowed, sorted, paged, as files, and beside those of another run."""

import csv
import io
import json
from dataclasses import replace

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.reports import registry
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import result_reader, run_state
from catalog.reports.tables import ColumnKind, ReportColumn
from policies.engine.model import Actor
from policies.pdp import actor_resolution
from tests import finished
from tests.finished import KIND, TABLE, VALUES
from tests.web.catalog.conftest import OUTSIDER, PII, SALARIES, hide
from tests.web.test_markup import HOSTILE, check
from tests.web.test_why import words

ADA, STELLA = "urn:li:corpuser:ada", "urn:li:corpuser:stella"
COLUMNS = tuple(ReportColumn(kind.value.lower(), kind.value, kind) for kind in ColumnKind)


def row(person, entities, privilege="VIEW_ENTITY_PAGE"):
    return {"privilege": privilege, "person": person, "entities": entities}


def at(run, name=TABLE, ending=""):
    return f"/reports/runs/{run.pk}/tables/{name}{ending}"


def people_of(answer):
    return [cells[1]["value"] for cells in answer.context["rows"]]


@pytest.fixture
def run(world, tmp_path):
    rows = [row(OUTSIDER, 5), row(ADA, 1200), row(STELLA, 30, "EDIT_ENTITY_TAGS")]
    return finished.ready(tmp_path, KIND, {TABLE: rows})


def test_a_table_is_shown_with_links_to_people_and_privileges(browse, run):
    page = browse("admin").get(at(run))
    text = page.content.decode()
    assert people_of(page) == [OUTSIDER, ADA, STELLA]
    assert f'href="/settings/identities/users/{ADA}">Ada Admin<' in text
    assert 'href="/why/who?privilege=EDIT_ENTITY_TAGS" title="EDIT_ENTITY_TAGS">Edit Tags<' in text
    assert ">View Entity Page</option>" in text
    assert "1,200" in text


def test_a_table_that_is_cut_says_so_whatever_is_searched(browse, world, tmp_path, monkeypatch):
    tables = tuple(replace(table, limit=2 if table.name == TABLE else None) for table in KINDS[KIND].tables)
    kinds = {**KINDS, KIND: replace(KINDS[KIND], tables=tables)}
    for module in (finished, registry):
        monkeypatch.setattr(module, "KINDS", kinds)
    sentence, admin = "Only the first 2 rows are kept here", browse("admin")
    short, long = (
        finished.ready(tmp_path, KIND, {TABLE: [row(ADA, number) for number in range(count)]}) for count in (1, 3)
    )
    assert sentence not in words(admin.get(at(short)))
    for query in ("", "?q=ada&size=1", "?q=nobody"):
        assert sentence in words(admin.get(f"{at(long)}{query}"))


def test_a_table_that_leaves_rows_out_says_so(browse, world, tmp_path):
    run = finished.ready(tmp_path, "dataset_access_check", {"failures": [{"assertion": "Nobody"}]})
    assert "Up to 200 failures of an assertion are listed" in words(browse("admin").get(at(run, "failures")))
    assert "Up to 200 failures" not in words(browse("admin").get(at(run, "assertions")))


def test_a_filter_that_lists_only_the_first_choices_says_so(browse, run, monkeypatch):
    assert "are listed" not in words(browse("admin").get(at(run)))
    cache.clear()
    monkeypatch.setattr(report_rows, "MAX_CHOICES", 1)
    assert "Any (the first 1 are listed)" in words(browse("admin").get(at(run)))


def test_a_table_is_searched_narrowed_and_sorted(browse, run):
    admin = browse("admin")
    assert people_of(admin.get(f"{at(run)}?q=STELLA")) == [STELLA]
    assert people_of(admin.get(f"{at(run)}?q=corpuser+tags")) == [STELLA]
    assert people_of(admin.get(f"{at(run)}?of_privilege=VIEW_ENTITY_PAGE")) == [OUTSIDER, ADA]
    assert people_of(admin.get(f"{at(run)}?sort=-entities")) == [ADA, STELLA, OUTSIDER]
    assert people_of(admin.get(f"{at(run)}?sort=entities&q=view")) == [OUTSIDER, ADA]
    assert people_of(admin.get(f"{at(run)}?sort=person")) == [ADA, OUTSIDER, STELLA]
    assert "No rows match" in words(admin.get(f"{at(run)}?q=nobody"))
    nonsense = admin.get(f"{at(run)}?sort=colour&of_privilege=none&of_colour=red&page=x&size=7")
    assert people_of(nonsense) == [OUTSIDER, ADA, STELLA]
    assert admin.get(f"{at(run)}?q=%00").status_code == 200


def test_a_table_costs_as_many_queries_for_many_rows_as_for_one(browse, world, tmp_path, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    admin = browse("admin")
    found = []
    for count in (1, 25):
        run = finished.ready(tmp_path, KIND, {TABLE: [row(f"urn:li:corpuser:p{one}", one) for one in range(count)]})
        admin.get(at(run))
        with CaptureQueriesContext(connection) as asked:
            admin.get(at(run))
        found.append(len(asked))
    assert found[0] == found[1]


def test_pages_and_sizes_keep_what_was_asked(browse, world, tmp_path):
    run = finished.ready(tmp_path, KIND, {TABLE: [row(f"urn:li:corpuser:p{one:02}", one) for one in range(30)]})
    page = browse("admin").get(f"{at(run)}?size=10&sort=-entities&page=2")
    assert people_of(page)[0] == "urn:li:corpuser:p19"
    assert "11–20 of 30" in words(page)  # noqa: RUF001 - as the pager writes it
    part = browse("admin").get(f"{at(run)}?page=2", headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_every_table_of_every_kind_is_drawn_and_given_as_files(browse, world, tmp_path, kind):
    run = finished.ready(tmp_path, kind, {table.name: [{}, {}] for table in KINDS[kind].tables})
    root = browse("root")
    for table in KINDS[kind].tables:
        page = root.get(at(run, table.name))
        assert len(page.context["rows"]) == 2, table.name
        check(page)
        (head, *rows) = csv.reader(io.StringIO(body(root.get(at(run, table.name, ".csv")))))
        assert head == [column.name for column in table.columns]
        assert len(rows) == 2
        document = json.loads(body(root.get(at(run, table.name, ".json"))))
        assert document["rows"] == [{column.name: VALUES[column.kind] for column in table.columns}] * 2


def test_files_hold_what_the_table_shows_under_its_filters(browse, run):
    answer = browse("admin").get(f"{at(run, ending='.csv')}?of_privilege=VIEW_ENTITY_PAGE")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="{KIND}-{TABLE}-')
    lines = [f"VIEW_ENTITY_PAGE,{OUTSIDER},5", f"VIEW_ENTITY_PAGE,{ADA},1200"]
    assert body(answer) == "".join(f"{line}\r\n" for line in ("privilege,person,entities", *lines))
    document = json.loads(body(browse("admin").get(f"{at(run, ending='.json')}?q=nobody")))
    assert (document["kind"], document["table"], document["rows"]) == (KIND, TABLE, [])


def test_files_are_read_in_steps(browse, world, tmp_path, monkeypatch):
    monkeypatch.setattr(result_reader, "READ_BATCH_SIZE", 7)
    run = finished.ready(tmp_path, KIND, {TABLE: [row(f"urn:li:corpuser:p{one}", one) for one in range(30)]})
    (_, *rows) = csv.reader(io.StringIO(body(browse("admin").get(at(run, ending=".csv")))))
    assert [int(entities) for *_, entities in rows] == list(range(30))


@pytest.mark.parametrize("first", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_no_text_of_a_file_is_a_formula(browse, world, tmp_path, first):
    run = finished.ready(tmp_path, KIND, {TABLE: [row(first, -5)]})
    answer = body(browse("admin").get(at(run, ending=".csv")))
    ((_, person, entities),) = list(csv.reader(io.StringIO(answer, newline="")))[1:]
    assert (person, entities) == (f"'{first}", "-5")


def test_what_a_row_says_becomes_no_markup(browse, world, tmp_path):
    run = finished.ready(tmp_path, KIND, {TABLE: [row(HOSTILE, 1, HOSTILE)]}, summary=hostile_summary())
    root = browse("root")
    for address in (at(run), f"/reports/runs/{run.pk}"):
        page = root.get(address)
        check(page)
        assert "&lt;script&gt;alert(1)" in page.content.decode()


def hostile_summary():
    bars = [{"label": HOSTILE, "value": 1}, {"urn": f"urn:li:tag:{HOSTILE}", "value": 2}]
    charts = [{"name": HOSTILE, "title": HOSTILE, "bars": bars}]
    return {"numbers": [{"title": HOSTILE, "value": 1}], "charts": charts}


@pytest.mark.parametrize("naming", [{"entity": SALARIES}, {"entities": f"{PII}\n{SALARIES}"}])
def test_a_row_that_names_what_may_not_be_viewed_keeps_its_numbers_alone(shelves, settings, naming):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    seen = {column.name: VALUES[column.kind] for column in COLUMNS}
    hidden = seen | {"text": "salaries has no role", "sql": "GRANT SELECT ON people.salaries TO x"} | naming
    rows = [("key of salaries", list(hidden.values())), ("key of nothing", [None] * len(COLUMNS))]
    first, second = result_reader.redact_rows(columns=COLUMNS, rows=rows, by=actor_resolution.load_actor(urn=OUTSIDER))
    told = result_reader.to_dict(COLUMNS, first)
    assert first.key is None
    assert {name for name, value in told.items() if value is None} == {"entity", "entities", "text", "lines", "sql"}
    assert (second.key, second.concealed) == ("key of nothing", frozenset())
    (first, _) = result_reader.redact_rows(
        columns=COLUMNS, rows=rows, by=actor_resolution.load_actor(urn="urn:li:corpuser:datahub")
    )
    assert result_reader.to_dict(COLUMNS, first) == hidden


def test_pages_files_and_differences_name_nothing_that_may_not_be_viewed(shelves, write, settings, tmp_path):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    otto = {"users": [OUTSIDER]}
    write("manages", displayName="Manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=otto)
    rows = [{"entity": SALARIES, "people": 3}, {"entity": PII, "people": 4}]
    # One run of a kind at a time.
    run_state.cancel(finished.RUNNING)
    summary = {"charts": [{"name": "x", "bars": [{"urn": SALARIES, "label": "salaries", "value": 3}]}]}
    finished.ready(tmp_path, KIND, {"entities": [{"entity": SALARIES, "people": 2}]})
    run = finished.ready(tmp_path, KIND, {"entities": rows}, summary=summary)
    here = f"/reports/runs/{run.pk}"
    for who, is_told in (("outsider", False), ("root", True)):
        client = shelves(who)
        pages = [here, at(run, "entities"), f"{here}/compare?table=entities&show=changed"]
        texts = [client.get(address).content.decode() for address in pages]
        files = [body(client.get(at(run, "entities", ending))) for ending in (".csv", ".json")]
        assert [("salaries" in text) for text in texts + files] == [is_told] * 5
        assert [("Something you may not view" in text) for text in texts] == [not is_told] * 3
        assert ",,3\r\n" in files[0] or is_told


def test_a_row_of_an_older_table_is_filled_and_cut():
    (found, more) = result_reader.redact_rows(
        columns=COLUMNS, rows=[("x", []), ("y", list(range(20)))], by=Actor("urn:li:corpuser:x")
    )
    assert found.values == (None,) * len(COLUMNS)
    assert len(more.values) == len(COLUMNS)


def test_two_runs_differ_by_what_came_went_and_changed(browse, world, tmp_path):
    older = finished.ready(tmp_path, KIND, {TABLE: [row(OUTSIDER, 5), row(ADA, 1200)]})
    newer = finished.ready(tmp_path, KIND, {TABLE: [row(STELLA, 1), row(ADA, 1300)]})
    root = browse("root")
    here = f"/reports/runs/{newer.pk}/compare"
    page = root.get(here)
    assert [one["label"] for one in page.context["differences"]] == ["Gained (1)", "Lost (1)", "Changed (1)"]

    def shown(query):
        return [(row[1]["now"]["value"], row[2]["is_changed"]) for row in root.get(f"{here}?{query}").context["rows"]]

    assert shown("") == shown("show=gained") == [(STELLA, False)]
    assert shown("show=lost&table=none") == [(OUTSIDER, False)]
    assert shown("show=changed") == [(ADA, True)]
    text = words(root.get(f"{here}?show=changed"))
    assert "Was: 1,200 Is: 1,300" in text
    # The other way round it is the same: from the older to the newer.
    back = f"/reports/runs/{older.pk}/compare?other={newer.pk}&show=gained"
    assert [row[1]["now"]["value"] for row in root.get(back).context["rows"]] == [STELLA]
    part = root.get(f"{here}?show=lost", headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()


def test_what_a_row_was_is_found_by_its_key(world, tmp_path):
    named = [f"urn:li:corpuser:p{number}" for number in range(2_000)]
    older, newer = (finished.ready(tmp_path, KIND, {TABLE: [row(one, count) for one in named]}) for count in (1, 2))
    found = report_rows.list_differences(older=older, newer=newer, table=TABLE, difference_kind="changed")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # What its own housekeeping tells the planner sooner or later.
            cursor.execute("ANALYZE catalog_reportrow")
    assert "report_row_key" in found.explain()
    assert "report_row_position" not in found.explain().partition("CORRELATED")[2]


def test_a_first_run_has_nothing_to_be_compared_with(browse, run):
    assert "Nothing to compare with" in words(browse("admin").get(f"/reports/runs/{run.pk}/compare"))


def body(answer):
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()
