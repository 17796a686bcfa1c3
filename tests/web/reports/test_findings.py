"""The inbox of findings: narrowed, decided about one by one or many at once, and concealed from who may not view."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import Finding
from tests.web.catalog.conftest import ORDERS, PII, SALARIES, hide
from tests.web.test_markup import HOSTILE, check
from tests.web.test_why import words

INBOX = "/reports/findings"
ADA = "urn:li:corpuser:ada"


def find(key, **changes):
    known = {"kind": "role_mapping_check", "type": "grant_missing", "severity": "HIGH", "sentence": f"About {key}."}
    return Finding.objects.create(key=key, **known | changes)


def page_of(finding):
    return f"{INBOX}/{finding.pk}"


def sentences(answer):
    return [row["title"] for row in answer.context["rows"]]


@pytest.fixture
def found(world):
    return [
        find("low", severity="LOW", type="extra_member"),
        find("high"),
        find("worst", severity="CRITICAL", values={"entity": ORDERS}, repair="GRANT SELECT ON <orders> TO ROLE reader"),
        find("done", state="CLOSED"),
        find("hers", state="ASSIGNED", assignee=ADA, severity="MEDIUM"),
    ]


def test_what_waits_is_listed_the_worst_first(browse, found):
    admin = browse("admin")
    assert sentences(admin.get(INBOX)) == ["About worst.", "About high.", "About hers.", "About low."]
    assert sentences(admin.get(f"{INBOX}?state=CLOSED")) == ["About done."]
    assert len(sentences(admin.get(f"{INBOX}?state=ANY"))) == 5
    assert sentences(admin.get(f"{INBOX}?severity=LOW&type=extra_member")) == ["About low."]
    assert sentences(admin.get(f"{INBOX}?assignee=ada")) == ["About hers."]
    assert sentences(admin.get(f"{INBOX}?q=WORST&kind=role_mapping_check")) == ["About worst."]
    assert "No findings match" in words(admin.get(f"{INBOX}?q=nothing"))
    assert len(sentences(admin.get(f"{INBOX}?severity=none&kind=none&q=%00"))) == 4
    part = admin.get(INBOX, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()


def test_many_are_decided_about_in_one_act(browse, found):
    admin = browse("admin")
    chosen = [found[0].pk, found[1].pk]
    answer = admin.post(f"{INBOX}?state=ANY", {"finding": chosen, "what": "accept", "note": "Agreed with them."})
    assert answer.headers["Location"] == f"{INBOX}?state=ANY"
    assert "2 findings were changed." in words(admin.get(INBOX))
    decided = Finding.objects.filter(pk__in=chosen)
    assert {(one.state, one.note, one.decided_by) for one in decided} == {("ACCEPTED", "Agreed with them.", ADA)}
    admin.post(INBOX, {"finding": chosen, "what": "assign", "assignee": "otto"})
    assert set(decided.values_list("state", "assignee", "note")) == {
        ("ASSIGNED", "urn:li:corpuser:otto", "Agreed with them.")
    }
    admin.post(INBOX, {"finding": chosen, "what": "close"})
    assert set(decided.values_list("state", "assignee")) == {("CLOSED", "")}
    admin.post(INBOX, {"finding": chosen, "what": "reopen"})
    assert set(decided.values_list("state", flat=True)) == {"OPEN"}


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"what": "accept"}, "note"),
        ({"what": "assign", "assignee": "nobody", "note": "Please"}, "assignee"),
        ({"what": "assign"}, "assignee"),
        ({"what": "explode"}, "what"),
        ({"what": "close", "finding": []}, "__all__"),
    ],
)
def test_what_is_wrong_stands_beside_its_field_and_the_choice_is_kept(browse, found, sent, field):
    answer = browse("admin").post(INBOX, {"finding": [found[1].pk], **sent})
    assert answer.status_code == 422
    form = answer.context["change_form"]
    assert list(form.errors) == [field]
    assert form["note"].value() == sent.get("note")
    assert [row["is_chosen"] for row in answer.context["rows"]].count(True) == len(sent.get("finding", [1]))
    assert Finding.objects.get(pk=found[1].pk).state == "OPEN"


def test_one_is_shown_with_what_would_repair_it(browse, found):
    admin = browse("admin")
    page = admin.get(page_of(found[2]))
    text = page.content.decode()
    assert "GRANT SELECT ON &lt;orders&gt; TO ROLE reader" in text
    assert "About worst." in words(page)
    assert ORDERS in text
    answer = admin.post(page_of(found[2]), {"what": "close", "note": "Done in the source."}, follow=True)
    for word in ("The finding was changed.", "Closed", "Done in the source.", "Decided by Ada Admin"):
        assert word in words(answer)
    assert admin.post(page_of(found[2]), {"what": "accept"}).status_code == 422


def test_a_list_costs_as_many_queries_for_many_as_for_one(browse, world, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    admin = browse("admin")
    seen = []
    for count in (1, 20):
        for number in range(count):
            find(f"{count}-{number}", values={"entity": ORDERS}, state="ASSIGNED", assignee=ADA)
        admin.get(INBOX)
        with CaptureQueriesContext(connection) as asked:
            admin.get(INBOX)
        seen.append(len(asked))
    assert seen[0] == seen[1]


SUBJECT = "urn:li:dataHubPolicy:7"


def alike(count, **changes):
    """Return findings that are equal but for the person whom they name."""
    return [find(f"like-{number:03}", subject=SUBJECT, **changes) for number in range(count)]


def test_equal_findings_are_one_row_that_counts_them(browse, world):
    admin = browse("admin")
    equal = alike(7)
    others = [find("assigned", subject=SUBJECT, state="ASSIGNED", assignee=ADA), find("apart"), find("apart too")]
    page = admin.get(INBOX)
    rows = page.context["rows"]
    assert [row.get("count", 1) for row in rows] == [1, 1, 1, 7]
    group = next(row for row in rows if row.get("count") == 7)
    assert [member["finding"].pk for member in group["members"]] == [one.pk for one in equal[:5]]
    assert (page.context["total"], page.context["page"].paginator.count) == (10, 4)
    assert "10 findings." in words(page)
    inside = admin.get(group["url"])
    assert {row["finding"].pk for row in inside.context["rows"]} == {one.pk for one in equal}
    assert inside.context["total"] == 7
    assert admin.get(f"{INBOX}?assignee=ada").context["total"] == 1
    assert admin.get(f"{INBOX}?q=like-003").context["total"] == 1
    assert admin.get(f"{INBOX}?size=10&page=2").context["page"].number == 1
    check(page)
    assert others


def test_groups_are_paged_and_cost_the_same_however_many(browse, world):
    admin = browse("admin")
    costs, page = [], admin.get(INBOX)
    for kinds in (2, 30):
        for number in range(kinds):
            for place in range(3):
                find(f"{kinds}-{number}-{place}", subject=f"urn:li:dataHubPolicy:{kinds}-{number}")
        admin.get(f"{INBOX}?size=50")
        with CaptureQueriesContext(connection) as asked:
            page = admin.get(f"{INBOX}?size=50")
        costs.append(len(asked))
    assert page.context["page"].paginator.count == 32
    assert page.context["total"] == 96
    assert costs[0] == costs[1]


def test_a_group_is_decided_about_as_a_whole_and_as_it_was_listed(browse, world):
    admin = browse("admin")
    equal = alike(7)
    apart = find("apart")
    Finding.objects.filter(pk=equal[6].pk).update(severity="LOW")
    chosen = {"group": [equal[0].pk], "what": "accept", "note": "All of them."}
    answer = admin.post(INBOX, {**chosen, "note": ""})
    assert answer.status_code == 422
    assert [row["is_chosen"] for row in answer.context["rows"]] == [False, True, False]
    admin.post(INBOX, {**chosen, "finding": [apart.pk]})
    assert "7 findings were changed." in words(admin.get(INBOX))
    assert set(Finding.objects.exclude(state="ACCEPTED").values_list("pk", flat=True)) == {equal[6].pk}
    admin.post(INBOX, {"group": [equal[0].pk], "what": "close"})
    assert not Finding.objects.filter(state="CLOSED").exists(), "it is not on this list any more"


def test_what_was_decided_stays_on_the_page(browse, found):
    admin, address = browse("admin"), page_of(found[1])
    admin.post(address, {"what": "assign", "assignee": "otto", "note": "Otto knows."})
    admin.post(address, {"what": "accept", "note": "He says so.", "until": "2099-12-31"})
    admin.post(address, {"what": "reopen"})
    text = words(admin.get(address))
    for said in ("Assigned to Otto Outsider by Ada Admin at", "Otto knows.", "He says so.", "until 31 Dec 2099"):
        assert said in text
    answer = admin.post(address, {"what": "accept", "note": "x", "until": "2001-01-01"})
    assert answer.status_code == 422
    assert list(answer.context["change_form"].errors) == ["until"]


def test_whom_it_is_assigned_to_reads_it_and_decides_nothing(browse, found):
    browse("admin").post(page_of(found[1]), {"what": "assign", "assignee": "otto", "note": "Otto knows."})
    otto = browse("outsider")
    page = otto.get(page_of(found[1]))
    assert page.status_code == 200
    assert "Otto knows." in words(page)
    assert page.context["change_form"] is None
    assert otto.post(page_of(found[1]), {"what": "close"}).status_code == 403
    for other in (page_of(found[0]), f"{INBOX}/999999", INBOX):
        assert otto.get(other).status_code == 403
    assert Finding.objects.get(pk=found[1].pk).state == "ASSIGNED"


@pytest.mark.parametrize("values", [{"entity": SALARIES}, {"datasets": f"{PII}\n{SALARIES}"}])
def test_what_the_reader_may_not_view_is_not_named(shelves, write, settings, values):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    otto = {"users": ["urn:li:corpuser:otto"]}
    write("manages", displayName="Manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=otto)
    finding = find("people.salaries", values=values, repair="GRANT SELECT ON people.salaries TO x")
    for address in (INBOX, page_of(finding)):
        text = shelves("outsider").get(address).content.decode()
        assert "Something you may not view" in text
        assert "salaries" not in text
        assert "salaries" in shelves("root").get(address).content.decode()


def test_a_group_about_what_the_reader_may_not_view_does_not_name_it_in_its_link(shelves, write, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    otto = {"users": ["urn:li:corpuser:otto"]}
    write("manages", displayName="Manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=otto)
    for number in range(2):
        find(f"people.salaries {number}", values={"entity": SALARIES}, subject=SALARIES)
    text = shelves("outsider").get(INBOX).content.decode()
    assert "Something you may not view" in text
    assert "salaries" not in text
    assert "salaries" in shelves("root").get(INBOX).content.decode()


def test_what_a_finding_says_becomes_no_markup(browse, world):
    finding = find(HOSTILE[:200], sentence=HOSTILE, repair=HOSTILE, note=HOSTILE, values={HOSTILE: HOSTILE})
    for address in (INBOX, page_of(finding)):
        page = browse("root").get(address)
        check(page)
        assert "&lt;script&gt;alert(1)" in page.content.decode()


def test_who_does_not_manage_policies_decides_nothing(browse, found):
    answer = browse("steward").post(INBOX, {"finding": [found[1].pk], "what": "close"})
    assert answer.status_code == 403
    assert Finding.objects.get(pk=found[1].pk).state == "OPEN"
