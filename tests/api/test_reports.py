"""Reports over the API: start one, follow and end it, and read its tables as pages, files and differences."""

import csv
import io

import pytest

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.run import run_state
from tests import finished
from tests.api.conftest import pointers_of, problem_of
from tests.finished import KIND, SUMMARY, TABLE

BASE = "/api/v1/reports/"
OTTO, ADA, STELLA = (f"urn:li:corpuser:{name}" for name in ("otto", "ada", "stella"))


def row(person, entities):
    return {"privilege": "VIEW_ENTITY_PAGE", "person": person, "entities": entities}


@pytest.fixture
def run(manager, tmp_path):
    rows = {TABLE: [row(OTTO, 5), row(ADA, 1200), row(STELLA, 30)]}
    return finished.ready(tmp_path, KIND, rows, summary=SUMMARY)


def table(run, more="", name=TABLE):
    return f"{BASE}{run.pk}/tables/{name}/{more}"


def test_the_kinds_say_what_can_be_asked_and_what_comes_back(manager):
    body = manager.get(f"{BASE}kinds/").json()
    assert [kind["name"] for kind in body["results"]] == list(KINDS)
    (kind,) = (kind for kind in body["results"] if kind["name"] == KIND)
    (parameter,) = (one for one in kind["parameters"] if one["name"] == "privileges")
    assert parameter["default"] == ["VIEW_ENTITY_PAGE"]
    assert parameter["choices"]["EDIT_ENTITY_TAGS"] == "Edit Tags"
    (people,) = (one for one in kind["tables"] if one["name"] == TABLE)
    assert [(one["name"], one["kind"]) for one in people["columns"]][:2] == [
        ("privilege", "PRIVILEGE"),
        ("person", "ACTOR"),
    ]


def test_a_report_is_started_followed_and_ended(manager):
    made = manager.post(BASE, {"kind": KIND, "parameters": {"privileges": ["EDIT_ENTITY_TAGS"]}}, format="json")
    assert made.status_code == 201
    body = made.json()
    assert (body["status"], body["requested_by"]) == ("QUEUED", "urn:li:corpuser:manager")
    assert body["parameters"]["privileges"] == ["EDIT_ENTITY_TAGS"]
    assert "one runs at a time" in problem_of(manager.post(BASE, {"kind": KIND}, format="json"), 409)["detail"]
    found = run_state.claim(Report.objects.get().pk)
    assert found is not None
    assert run_state.update_progress(found, stage="Counting", done=3, total=12)
    assert manager.get(f"{BASE}{found.pk}/").json()["progress"] == {"stage": "Counting", "done": 3, "total": 12}
    assert problem_of(manager.get(table(found)), 409)["detail"] == "This report is running; it has no results."
    assert manager.post(f"{BASE}{found.pk}/cancel/").json()["status"] == "CANCELLED"
    problem_of(manager.post(f"{BASE}{found.pk}/cancel"), 409)


def test_everything_wrong_is_said_at_once(manager):
    wrong = {"privileges": ["NOBODY_KNOWS", "NOR_THIS"], "colour": "red"}
    answer = manager.post(BASE, {"kind": KIND, "parameters": wrong}, format="json")
    assert {pointer for _, pointer in pointers_of(answer)} == {"/parameters/colour", "/parameters/privileges"}
    assert len(answer.json()["errors"]) == 3
    answer = manager.post(BASE, {"kind": "none", "parameters": [], "more": 1}, format="json")
    assert {pointer for _, pointer in pointers_of(answer)} == {"/kind", "/more"}
    answer = manager.post(BASE, {"kind": KIND, "parameters": []}, format="json")
    assert pointers_of(answer) == {("invalid", "/parameters")}
    assert not Report.objects.exists()


def test_runs_are_listed_and_one_tells_everything(manager, run):
    failed = finished.failed(KIND, "There is no Java on this machine.")
    listed = manager.get(BASE).json()["results"]
    assert [one["id"] for one in listed] == [str(failed.pk), str(run.pk)]
    assert "log" not in listed[0]
    assert [one["problem"] for one in manager.get(f"{BASE}?status=FAILED&kind={KIND}").json()["results"]] == [
        "There is no Java on this machine."
    ]
    body = manager.get(f"{BASE}{run.pk}/").json()
    assert body["log"] == "Done"
    assert body["summary"]["numbers"] == [{"title": "People", "value": 1234.0}, {"title": "Entities", "value": 20.0}]
    assert body["summary"]["charts"][0]["bars"][1] == {"label": "Nothing of the catalog", "urn": None, "value": 30.0}


def test_a_table_is_searched_narrowed_sorted_and_paged(manager, run):
    def people(query):
        return [one["values"]["person"] for one in manager.get(f"{table(run)}?{query}").json()["results"]]

    assert people("") == [OTTO, ADA, STELLA]
    assert people("q=stella") == [STELLA]
    assert people(f"column=person&value={ADA}") == [ADA]
    assert people("sort=-entities") == [ADA, STELLA, OTTO]
    assert people("sort=entities&page=2&page_size=2") == [ADA]
    first = manager.get(table(run)).json()["results"][0]
    assert first == {"key": f"VIEW_ENTITY_PAGE {OTTO}", "values": row(OTTO, 5), "is_concealed": False}
    assert pointers_of(manager.get(f"{table(run)}?sort=colour")) == {("column.unknown", "/sort")}
    assert pointers_of(manager.get(f"{table(run)}?column=person")) == {("parameter.half", "/column")}
    assert pointers_of(manager.get(f"{table(run)}?colour=red")) == {("field.unknown", "/colour")}
    problem_of(manager.get(table(run, name="none")), 404)


@pytest.mark.parametrize("accept", ["text/csv", "application/json", "*/*"])
def test_a_table_comes_as_a_file_whatever_is_accepted(manager, run, accept):
    answer = manager.get(table(run, "csv/?q=otto"), headers={"accept": accept})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    lines = list(csv.reader(io.StringIO(b"".join(answer.streaming_content).decode())))
    assert lines == [["privilege", "person", "entities"], ["VIEW_ENTITY_PAGE", OTTO, "5"]]
    answer = manager.get(table(run, "json/"), headers={"accept": accept})
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert problem_of(manager.get(table(run, "csv/?sort=person"), headers={"accept": accept}), 400)


def test_two_runs_are_compared_by_key(manager, run, tmp_path):
    newer = finished.ready(tmp_path, KIND, {TABLE: [row("urn:li:corpuser:new", 1), row(ADA, 1300), row(OTTO, 5)]})

    def found(which, one=newer, other=run):
        body = manager.get(table(one, f"differences/?other={other.pk}&which={which}")).json()
        return [(found["values"]["person"], found["was"] and found["was"]["entities"]) for found in body["results"]]

    assert found("gained") == [("urn:li:corpuser:new", None)]
    assert found("lost") == found("lost", run, newer) == [(STELLA, None)]
    assert found("changed") == [(ADA, 1200)]
    answer = manager.get(table(newer, "differences/?other=x"))
    assert {pointer for _, pointer in pointers_of(answer)} == {"/other", "/which"}


def test_who_does_not_manage_policies_is_told_what_is_missing(client_of, run):
    nobody = client_of("nobody")
    for address in (BASE, f"{BASE}{run.pk}/", table(run), table(run, "csv/")):
        body = problem_of(nobody.get(address), 403)
        assert body["missing"] == [{"entity": None, "privilege": "MANAGE_POLICIES"}]
