"""Who can read what in the warehouse, with what is declared and used: the page, its file, and the Access tab."""

import csv
import io
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import finished
from tests.web.catalog.conftest import ORDERS, OUTSIDER, OWNER, PII, READER, SALARIES, hide
from tests.web.test_markup import check

URL = "/reports/warehouse"
WARNING = "Exports are older than EXPORT_MAX_AGE (48 h): snow (71 h). What they say may have changed since."


def access(dataset, grantee, level, declared, *, through=None, tags=None):
    row = {"dataset": dataset, "grantee": grantee, "level": level, "declared": declared, "export": "snow"}
    return row | {"through": through, "tags": tags}


def holder(who, role, through="", kind="USER"):
    return {"holder": who, "role": role, "through": through, "kind": kind, "export": "snow"}


def use(dataset, person, grantee, last):
    return {"dataset": dataset, "person": person, "grantee": grantee, "level": "READ", "last": last, "export": "snow"}


@pytest.fixture
def runs(shelves, tmp_path):
    rows = [
        access(ORDERS, READER, "READ", "READ", tags=PII),
        access(ORDERS, OUTSIDER, "WRITE", None, tags=PII),
        access(ORDERS, "STRANGER", "OWN", None, through="SHOP", tags=f"{PII}\nurn:li:tag:Gold"),
        access(SALARIES, READER, None, "READ"),
        access(SALARIES, "PUBLIC", "READ", None),
    ]
    holders = [
        holder(OWNER, READER),
        holder("IDA", READER, "BOSS"),
        holder("urn:li:role:boss", READER, kind="ROLE"),
    ]
    uses = [
        use(ORDERS, OWNER, READER, "2026-05-01 10:00"),
        use(ORDERS, "IDA", READER, "2026-05-03 10:00"),
        use(ORDERS, "GHOST", None, "2026-05-04 10:00"),
    ]
    finished.ready(
        tmp_path, "role_mapping_check", {"access": rows, "holders": holders}, summary={"warnings": [WARNING]}
    )
    finished.ready(tmp_path, "warehouse_usage", {"uses": uses})
    return shelves


def found(client, **filters):
    answer = client.get(URL, filters)
    assert answer.status_code == 200
    check(answer)
    return [tuple(cell["value"] for cell in row) for row in answer.context["rows"]], answer.content.decode()


def test_declared_granted_and_used_stand_side_by_side(runs):
    rows, text = found(runs("root"), dataset=ORDERS)
    assert rows == [
        (ORDERS, READER, None, "READ", "READ", "2026-05-03 10:00", "2", "snow"),
        (ORDERS, OUTSIDER, None, None, "WRITE", None, None, "snow"),
        (ORDERS, "STRANGER", "on SHOP", None, "OWN", None, None, "snow"),
    ]
    assert "GHOST" in text
    assert WARNING in text


def test_what_a_person_has_comes_through_roles_too(runs):
    rows, _ = found(runs("root"), person="IDA")
    assert [(row[0], row[1], row[2], row[5]) for row in rows] == [
        (ORDERS, READER, "BOSS", "2026-05-03 10:00"),
        (SALARIES, READER, "BOSS", None),
        # What everybody has, she has.
        (SALARIES, "PUBLIC", None, None),
    ]
    # A name of the catalog stands for its URN.
    rows, _ = found(runs("root"), person="otto", dataset="orders")
    assert [row[1] for row in rows] == [OUTSIDER]


def test_datasets_of_a_tag(runs):
    client = runs("root")
    rows, text = found(client, tag=PII)
    assert {row[0] for row in rows} == {ORDERS}
    assert f'<option value="{PII}" selected' in " ".join(text.split())


def test_the_file_has_the_rows_that_match(runs):
    answer = runs("root").get(f"{URL}.csv", {"dataset": ORDERS})
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert [(row["grantee"], row["granted"], row["used"]) for row in rows] == [
        (READER, "READ", "2026-05-03 10:00"),
        (OUTSIDER, "WRITE", ""),
        ("STRANGER", "OWN", ""),
    ]


@pytest.mark.parametrize("name", ["outsider", "owner", "steward"])
def test_the_page_is_for_those_who_manage_policies(runs, name):
    client = runs(name)
    client.raise_request_exception = False
    assert {client.get(url).status_code for url in (URL, f"{URL}.csv")} == {403}


def test_what_may_not_be_viewed_is_not_named(runs):
    hide()
    rows, text = found(runs("root"), person="IDA")
    assert len(rows) == 3
    assert SALARIES in text  # root may view it


def tab(client, dataset=ORDERS):
    return client.get(f"/catalog/{quote(dataset, safe='')}", {"show": "access"})


@pytest.mark.parametrize(
    ("name", "is_shown"), [("root", True), ("owner", True), ("steward", False), ("outsider", False)]
)
def test_the_access_tab_shows_it_to_owners_and_managers_of_policies(runs, name, is_shown):
    answer = tab(runs(name))
    text = answer.content.decode()
    check(answer)
    assert ("STRANGER" in text) is is_shown
    assert ("In the catalog its policies let" in text) is is_shown
    # Reports are for those who manage policies.
    assert ("/reports/runs/" in text) is (name == "root")


def test_the_number_of_queries_does_not_depend_on_the_rows(runs):
    client = runs("root")
    counts = []
    for filters in ({}, {"dataset": "orders"}):
        client.get(URL, filters)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(URL, filters)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_without_a_run_the_page_says_what_to_do(shelves):
    _, text = found(shelves("root"))
    assert "Nothing is known yet" in text
