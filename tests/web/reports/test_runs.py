"""Starting a report, looking at how far it is, ending it, and what is shown when it has ended."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import Report
from catalog.reports.run import run_state
from catalog.reports.services import reports as service
from catalog.reports.summary import Bar, Chart, Summary
from policies.pdp.authorizer import SYSTEM
from tests import finished
from tests.finished import KIND, SUMMARY
from tests.web.test_why import words

LIST, NEW = "/reports", f"/reports/new/{KIND}"
ADA = "urn:li:corpuser:ada"


@pytest.fixture(autouse=True)
def _no_worker(settings, tmp_path):
    """What is queued stays queued: the broker is a folder of the test that no worker reads."""
    settings.REPORTS_DIR = tmp_path


def page_of(run):
    return f"/reports/runs/{run.pk}"


def test_the_kinds_and_their_runs_are_listed(browse, world, tmp_path):
    admin = browse("admin")
    assert "Nothing has run yet" in words(admin.get(LIST))
    finished.ready(tmp_path, KIND, by=ADA)
    finished.failed(KIND, "There is no Java on this machine.")
    text = words(admin.get(LIST))
    for word in ("Effective access", "Nightly", "Ready", "Failed", "There is no Java on this machine.", "Ada Admin"):
        assert word in text
    assert [row["by"]["name"] for row in admin.get(f"{LIST}?status=READY").context["rows"]] == ["Ada Admin"]
    assert "No runs match" in words(admin.get(f"{LIST}?status=CANCELLED"))
    part = admin.get(LIST, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()


def test_a_list_costs_as_many_queries_for_many_runs_as_for_one(browse, world, tmp_path):
    admin = browse("admin")
    found = []
    for count in (1, 20):
        for _ in range(count):
            finished.ready(tmp_path, KIND, by=ADA)
        admin.get(LIST)
        with CaptureQueriesContext(connection) as asked:
            admin.get(LIST)
        found.append(len(asked))
    assert found[0] == found[1]


def test_a_report_is_started_with_what_was_chosen(browse, world):
    admin = browse("admin")
    form = admin.get(NEW).context["form"]
    assert form["privileges"].initial == ["VIEW_ENTITY_PAGE"]
    answer = admin.post(NEW, {"privileges": ["EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE"]})
    made = Report.objects.get()
    assert answer.headers["Location"] == page_of(made)
    assert made.parameters["privileges"] == ["EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE"]
    assert (made.status, made.requested_by) == ("QUEUED", ADA)
    again = admin.post(NEW, {"privileges": ["EDIT_ENTITY_TAGS"]})
    assert again.status_code == 409
    assert "one runs at a time" in words(again)
    assert again.context["form"]["privileges"].value() == ["EDIT_ENTITY_TAGS"]
    assert page_of(made) in again.content.decode()


def test_what_is_wrong_stands_beside_its_field_and_nothing_typed_is_lost(browse, world):
    answer = browse("admin").post(NEW, {"privileges": ["NOBODY_KNOWS", "EDIT_ENTITY_TAGS", "NOR_THIS"]})
    assert answer.status_code == 422
    errors = answer.context["form"].errors["privileges"]
    assert [one for name in ("NOBODY_KNOWS", "NOR_THIS") for one in errors if name in one] == errors
    text = answer.content.decode()
    assert 'value="EDIT_ENTITY_TAGS" checked' in " ".join(text.split())
    assert not Report.objects.exists()
    assert browse("admin").post(NEW, {}).context["form"].errors.keys() == {"privileges"}


def test_the_form_begins_with_what_an_earlier_run_was_asked(browse, world, tmp_path):
    earlier = finished.ready(tmp_path, KIND, privileges=["EDIT_ENTITY_TAGS"])
    admin = browse("admin")
    assert admin.get(f"{NEW}?again={earlier.pk}").context["form"]["privileges"].initial == ["EDIT_ENTITY_TAGS"]
    assert admin.get(f"{NEW}?again=nothing").context["form"]["privileges"].initial == ["VIEW_ENTITY_PAGE"]
    named = admin.get(f"{NEW}?again={earlier.pk}&privileges=EDIT_ENTITY_OWNERS")
    assert named.context["form"]["privileges"].initial == ["EDIT_ENTITY_OWNERS"]


def test_how_far_a_run_is_is_asked_for_until_it_has_ended(browse, world):
    admin = browse("admin")
    run = finished.running(KIND)
    assert run_state.update_progress(run, stage="Counting people", done=1500, total=6000, log="A line <of> the log")
    page = admin.get(page_of(run))
    text = words(page)
    for word in ("Running", "Counting people", "1,500 of 6,000 (25%)", "Cancel report"):
        assert word in text
    assert "A line &lt;of&gt; the log" in page.content.decode()
    assert 'hx-trigger="every 2s"' in page.content.decode()
    part = admin.get(page_of(run), headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert 'hx-swap-oob="innerHTML"' in part.content.decode()
    run_state.fail(run, problem="The disk is full.")
    ended = admin.get(page_of(run), headers={"HX-Request": "true"})
    assert (ended.headers["HX-Refresh"], ended.content) == ("true", b"")
    assert "The disk is full." in words(admin.get(page_of(run)))


def test_a_page_starts_a_report_and_shows_it_in_its_place(browse, world, tmp_path):
    root, place = browse("root"), {"HX-Request": "true", "HX-Target": "impact-report"}
    new = "/reports/new/policy_impact"
    refused = root.post(new, {"proposed": '[{"nothing": 1}]'}, headers=place)
    assert refused.status_code == 422
    assert "<html" not in refused.content.decode()
    assert not Report.objects.exists()
    started = root.post(new, {"proposed": "[]", "removed": "urn:li:dataHubPolicy:0"}, headers=place, follow=True)
    made = Report.objects.get()
    assert made.parameters["removed"] == ["urn:li:dataHubPolicy:0"]
    text = started.content.decode()
    assert f'hx-get="{page_of(made)}"' in text
    assert "Waiting for a worker" in words(started)
    assert "<html" not in text
    again = root.post(new, {"proposed": "[]", "removed": "urn:li:dataHubPolicy:0"}, headers=place)
    assert (again.status_code, "one runs at a time" in words(again)) == (422, True)
    run_state.fail(made, problem="The disk is full.")
    ended = root.get(page_of(made), headers=place)
    assert "The disk is full." in words(ended)
    assert "every 2s" not in ended.content.decode()
    ready = finished.ready(tmp_path, KIND)
    results = root.get(page_of(ready), headers=place)
    assert f'href="{page_of(ready)}/tables/' in results.content.decode()
    assert "HX-Refresh" not in results.headers
    assert browse("outsider").post(new, {"proposed": "[]"}, headers=place).status_code == 403


def test_a_run_without_numbers_shows_that_it_goes_on(browse, world):
    run = finished.running(KIND)
    assert "<progress" in browse("admin").get(page_of(run)).content.decode()
    service.cancel(report_id=run.pk, by=SYSTEM)
    queued = service.request_report(kind=KIND, parameters={}, by=SYSTEM, is_queued=False)
    assert "Waiting for a worker" in words(browse("admin").get(page_of(queued)))


def test_a_run_is_ended_after_a_question(browse, world):
    admin = browse("admin")
    run = finished.running(KIND)
    question = admin.get(f"{page_of(run)}/cancel")
    assert "Earlier results stay." in words(question)
    answer = admin.post(f"{page_of(run)}/cancel", follow=True)
    assert "The report was cancelled." in words(answer)
    run.refresh_from_db()
    assert run.status == Report.Status.CANCELLED
    late = admin.post(f"{page_of(run)}/cancel", follow=True)
    assert "This report has ended already." in words(late)


def test_a_failed_run_says_why_and_leads_to_the_last_good_one(browse, world, tmp_path):
    good = finished.ready(tmp_path, KIND)
    bad = finished.failed(KIND, "There is no Java on this machine.", log="java: not found")
    page = browse("admin").get(page_of(bad))
    assert "There is no Java on this machine." in words(page)
    assert "java: not found" in words(page)
    assert f'href="{page_of(good)}"' in page.content.decode()


def test_headline_numbers_and_charts_are_drawn_beside_their_numbers(browse, world, tmp_path):
    root = browse("root")
    first = finished.ready(tmp_path, KIND, summary=SUMMARY)
    assert root.get(page_of(first)).context["charts"][0]["lines"] is None
    second = finished.ready(tmp_path, KIND, summary=SUMMARY)
    page = root.get(page_of(second))
    text = words(page)
    for word in ("1,234", "Access by domain", "Sales", "1,200", "Nothing of the catalog", "Over time"):
        assert word in text
    (chart,) = page.context["charts"]
    assert [bar["width"] for bar in chart["bars"]] == ["100.0", "2.5"]
    assert [line["values"] for line in chart["lines"]["lines"]] == [["1,200", "1,200"], ["30", "30"]]


def test_a_chart_says_how_many_bars_it_leaves_out(browse, world, tmp_path):
    bars = [Bar(f"d{number}", number) for number in range(1, 41)]
    summary = Summary((), (Chart.from_largest("domains", "By domain", bars),)).serialize()
    run = finished.ready(tmp_path, KIND, summary=summary)
    page = browse("root").get(page_of(run))
    (chart,) = page.context["charts"]
    assert [bar["value"] for bar in chart["bars"]] == [str(number) for number in range(40, 25, -1)]
    assert "and 25 more in the tables" in words(page)


def test_the_page_of_a_run_leads_to_a_script_of_each_export(browse, world, tmp_path):
    row = {"key": "1", "export": "it's shop/1", "repair": 'GRANT "a" TO "b";', "inverse": 'REVOKE "a" FROM "b";'}
    exports: list[dict[str, str | None]] = [
        {"export": "it's shop/1", "dialect": "postgres"},
        {"export": "words", "dialect": None},
    ]
    run = finished.ready(tmp_path, "role_mapping_check", {"findings": [row], "exports": exports})
    (script,) = browse("root").get(page_of(run)).context["scripts"]
    for name, start, statement in (("url", "repairs-", row["repair"]), ("inverse_url", "undo-", row["inverse"])):
        answer = browse("root").get(script[name])
        assert answer["Content-Disposition"].startswith(f'attachment; filename="{start}')
        assert statement in b"".join(answer.streaming_content).decode()


def test_what_a_run_could_not_judge_is_said_first(browse, world, tmp_path):
    sentence = "shop is not compared: shop/a.csv.gz is damaged."
    run = finished.ready(tmp_path, KIND, summary=Summary((), unjudged=(sentence,)).serialize())
    assert f"Incomplete: {sentence}" in words(browse("root").get(page_of(run)))
    assert browse("root").get(f"/api/v1/reports/{run.pk}/").json()["summary"]["unjudged"] == [sentence]


def test_codes_beside_bars_are_shown_in_words(browse, world, tmp_path):
    labels = ("ROLE_BESIDE_ISOLATION", "Extra grant", "EDIT_ENTITY_TAGS", "postgres-eu")
    bars = [{"label": label, "value": 1} for label in labels]
    run = finished.ready(tmp_path, KIND, summary={"charts": [{"name": "kinds", "bars": bars}]})
    (chart,) = browse("root").get(page_of(run)).context["charts"]
    assert [bar["label"] for bar in chart["bars"]] == [
        "Role that bypasses isolation",
        "Access that the catalog does not declare",
        "Edit Tags",
        "postgres-eu",
    ]


def test_a_kind_that_is_no_longer_made_still_shows_its_runs(browse, world, tmp_path):
    old = finished.ready(tmp_path, KIND)
    Report.objects.update(kind="gone")
    admin = browse("admin")
    assert "gone" in words(admin.get(LIST))
    page = admin.get(page_of(old))
    assert page.status_code == 200
    assert page.context["again_url"] == ""


@pytest.mark.parametrize("address", [LIST, NEW])
def test_a_refusal_names_the_missing_privilege(browse, world, address):
    answer = browse("steward").get(address)
    assert answer.status_code == 403
    assert [one["privilege"] for one in answer.context["missing"]] == ["MANAGE_POLICIES"]
