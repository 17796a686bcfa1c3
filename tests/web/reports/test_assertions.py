"""The page of assertions: every problem with its line, nothing lost, a history, and one writer at a time."""

import html
import json
import re

import pytest

from catalog.models import AssertionText, Report
from catalog.reports.kinds.dataset_access_check import spec as dataset_access_check_spec
from catalog.reports.kinds.policy_hygiene import spec as policy_hygiene_spec
from catalog.reports.kinds.policy_impact import spec as policy_impact_spec
from catalog.reports.pages import assertions
from catalog.reports.queries import assertions as queries
from catalog.reports.services import assertions as service
from catalog.reports.storage import parse_address
from policies.authoring.services import policies, policy_drafts
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, Stale
from policies.pdp import authorizer
from tests.web.conftest import document_of
from tests.web.test_markup import check
from tests.web.test_why import words

PAGE = "/reports/assertions"
GOOD = "- name: Nobody edits\n  nobody: {may: EDIT_ENTITY, on: {tag: urn:li:tag:PII}}\n"
BAD = "- name: a\n  nobody: {may: EDIT_ENTITEE}\n- nobody: {may: EDIT_ENTITY}\n  # mine <b>\n"


def test_a_text_is_saved_and_kept_as_a_version(browse):
    admin = browse("admin")
    answer = admin.post(PAGE, {"text": GOOD.replace("\n", "\r\n"), "seen": 0})
    assert answer.headers["Location"] == PAGE
    page = admin.get(PAGE)
    assert "Saved as version 1." in words(page)
    assert queries.load_text() == GOOD
    service.save(text="", expected_version=1, by=authorizer.SYSTEM)
    assert "Version 2 by the system" in words(admin.get(PAGE))
    assert [one.number for one in queries.list_versions()] == [2, 1]
    assert queries.load_text() == ""
    assert "Nobody edits" in words(admin.get(f"{PAGE}/1"))
    assert admin.get(f"{PAGE}/9").status_code == 404


def test_a_list_of_versions_that_is_cut_says_so(browse, monkeypatch):
    monkeypatch.setattr(assertions, "_MAX_VERSIONS", 2)
    for number in range(3):
        assert ("These are the newest 2" in words(browse("admin").get(PAGE))) is False
        service.save(text=GOOD if number % 2 else "", expected_version=number, by=authorizer.SYSTEM)
    page = browse("admin").get(PAGE)
    assert [one["version"].number for one in page.context["versions"]] == [3, 2]
    assert "These are the newest 2; there are older ones." in words(page)


def test_every_problem_stands_with_its_line_and_nothing_is_lost(browse):
    admin = browse("admin")
    answer = admin.post(PAGE, {"text": BAD, "seen": 0})
    assert answer.status_code == 422
    said = words(answer)
    assert "line 2 There is no privilege" in said
    assert "line 3 An assertion needs a name" in said
    assert "# mine &lt;b&gt;" in answer.content.decode()
    check(answer)
    assert not AssertionText.objects.exists()


def test_somebody_else_was_faster(browse, world):
    admin = browse("admin")
    admin.post(PAGE, {"text": GOOD, "seen": 0})
    answer = admin.post(PAGE, {"text": "# mine", "seen": 0})
    assert answer.status_code == 409
    assert "Somebody saved version 1 meanwhile." in words(answer)
    assert "# mine" in words(answer)
    assert "Nobody edits" in words(answer)
    assert queries.load_text() == GOOD
    with pytest.raises(Stale):
        service.save(text="", expected_version=0, by=authorizer.SYSTEM)


def test_the_same_text_is_no_new_version(browse):
    admin = browse("admin")
    for _ in range(2):
        admin.post(PAGE, {"text": GOOD, "seen": AssertionText.objects.count()})
    assert AssertionText.objects.count() == 1


@pytest.mark.parametrize("sent", [{"text": GOOD}, {"text": GOOD, "seen": "x"}, {"seen": -1}, {}])
def test_a_damaged_form_is_refused(browse, sent):
    assert browse("admin").post(PAGE, sent).status_code == 422
    assert not AssertionText.objects.exists()


def test_who_may(browse):
    assert browse("steward").get(PAGE).status_code == 403
    assert browse("steward").post(PAGE, {"text": GOOD, "seen": 0}).status_code == 403
    assert browse("anonymous").get(PAGE).status_code == 302
    check(browse("admin").get(PAGE))


@pytest.mark.django_db
def test_the_service_asks_for_the_privilege(world):
    with pytest.raises(Forbidden):
        service.save(text=GOOD, expected_version=0, by=Actor("urn:li:corpuser:otto"))


def test_a_file_holds_them(browse, settings, tmp_path):
    file = tmp_path / "assertions.yaml"
    file.write_text(GOOD, encoding="utf-8")
    settings.ASSERTIONS_FILE = str(file)
    admin = browse("admin")
    assert "Nobody edits" in words(admin.get(PAGE))
    assert admin.post(PAGE, {"text": "", "seen": 0}).status_code == 409
    with pytest.raises(Conflict):
        service.save(text="", expected_version=0, by=authorizer.SYSTEM)
    file.unlink()
    assert "cannot be read" in words(admin.get(PAGE))


# -- what the kinds lay beside a snapshot -----------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_check_is_given_what_is_asserted(tmp_path):
    service.save(text=GOOD, expected_version=0, by=authorizer.SYSTEM)
    dataset_access_check_spec.prepare(Report(), parse_address(tmp_path))
    (said,) = json.loads((tmp_path / "assertions.json").read_text(encoding="utf-8"))["assertions"]
    assert (said["name"], said["kind"], said["privileges"]) == ("Nobody edits", "nobody", ["EDIT_ENTITY"])
    assert said["on"] == [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:PII"]}]


@pytest.mark.django_db
def test_a_broken_file_ends_the_run_with_its_problems(settings, tmp_path):
    file = tmp_path / "assertions.yaml"
    file.write_text(BAD, encoding="utf-8")
    settings.ASSERTIONS_FILE = str(file)
    with pytest.raises(Invalid, match="line 2"):
        dataset_access_check_spec.prepare(Report(), parse_address(tmp_path))
    file.write_bytes(b"\xff")
    with pytest.raises(OSError, match="utf-8"):
        dataset_access_check_spec.prepare(Report(), parse_address(tmp_path))


def test_proposed_policies_are_read_as_a_file_is(world, write, tmp_path):
    stored = write("one")
    entries = [
        {"urn": stored.urn, "document": document_of(displayName="Other", state="INACTIVE")},
        document_of(displayName="New"),
    ]
    parameters = policy_impact_spec.SPEC.validate({"proposed": entries, "removed": ["urn:li:dataHubPolicy:two"]})
    policy_impact_spec.prepare(Report(parameters=parameters), parse_address(tmp_path))
    said = json.loads((tmp_path / "proposed.json").read_text(encoding="utf-8"))
    assert said["gone"] == ["urn:li:dataHubPolicy:two", stored.urn]
    assert [(one["name"], one["urn"]) for one in said["policies"]] == [("New", "urn:li:dataHubPolicy:proposed-2")]
    broken = {"proposed": [document_of(privileges="x"), {"document": 3}], "removed": ["x"]}
    with pytest.raises(Invalid) as refused:
        policy_impact_spec.SPEC.validate(broken)
    places = {one.pointer.split("/")[1] for one in refused.value.problems}
    assert places == {"proposed", "removed"}


def test_hygiene_is_told_who_there_is(world, tmp_path):
    policy_hygiene_spec.prepare(Report(), parse_address(tmp_path))
    known = json.loads((tmp_path / "known.json").read_text(encoding="utf-8"))["people"]
    assert {"urn:li:corpuser:ada", "urn:li:dataHubRole:Admin"} <= set(known)


# -- the impact report starts from where a change is written ---------------------------------------------------------

POLICIES = "/settings/permissions/policies"


def question(page):
    """Return what the button of the impact report sends, and where."""
    text = page.content.decode()
    button = re.search(r'name="proposed" value="([^"]*)"\s+formaction="([^"]*)"', text)
    assert button is not None
    return tuple(map(html.unescape, button.groups()))


@pytest.mark.parametrize("family", ["datahub", "datazone"])
def test_the_builder_and_the_statement_editor_start_the_report_on_what_is_written(browse, write, family):
    admin = browse("admin")
    if family == "datahub":
        stored = write("one", actors={"allUsers": True})
        address = f"{POLICIES}/edit/{stored.urn}"
    else:
        statements = [{"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"}]
        document = {"name": "Zone", "statements": statements, "roles": ["urn:li:dataHubRole:Reader"]}
        draft = policy_drafts.PolicyInput("datazone", document)
        stored = policies.create(draft=draft, by=authorizer.SYSTEM, channel="test").policy
        address = f"{POLICIES}/statements/edit/{stored.urn}"
    proposed, action = question(admin.get(address))
    assert json.loads(proposed)[0]["urn"] == stored.urn
    answer = admin.post(action, {"proposed": proposed, "draft": "anything"})
    report = Report.objects.get(kind="policy_impact")
    assert answer.headers["Location"] == f"/reports/runs/{report.pk}"
    assert report.parameters["proposed"][0]["document"] == stored.document


def test_the_page_of_a_policy_starts_the_report_on_its_end_or_on_activating_it(browse, write):
    admin = browse("admin")
    active, inactive = write("on"), write("off", state="INACTIVE")
    assert admin.get(f"{POLICIES}/{active.urn}").context["impact_question"] == {"name": "removed", "value": active.urn}
    sent = admin.get(f"{POLICIES}/{inactive.urn}").context["impact_question"]
    answer = admin.post("/reports/new/policy_impact", {sent["name"]: sent["value"]})
    (entry,) = Report.objects.get(kind="policy_impact").parameters["proposed"]
    assert answer.status_code == 302
    assert (entry["urn"], entry["document"]["state"]) == (inactive.urn, "ACTIVE")


def test_nobody_pastes_documents_into_a_form(browse, write):
    admin = browse("admin")
    empty = admin.get("/reports/new/policy_impact")
    assert "Start impact report" in words(empty)
    assert 'name="proposed"' not in empty.content.decode().replace('type="hidden" name="proposed"', "")
    sent = {"proposed": json.dumps([{"document": document_of(displayName="Mine")}]), "removed": "x"}
    again = admin.post("/reports/new/policy_impact", sent)
    assert again.status_code == 422
    assert "Mine" in words(again)
    assert 'type="hidden" name="proposed"' in again.content.decode()


def test_a_list_of_texts_is_written_on_several_lines(browse):
    page = browse("admin").get("/reports/new/policy_impact").content.decode()
    assert re.search(r"<textarea[^>]*name=\"removed\"[^>]*rows=\"5\"", page)
    assert 'type=""' not in page


def test_what_is_no_json_is_said_beside_its_field(browse):
    answer = browse("admin").post("/reports/new/policy_impact", {"proposed": "[{"})
    assert answer.status_code == 422
    assert "this is no JSON." in words(answer)
