"""The inbox of findings: narrowed, decided about one by one or many at once, and concealed from who may not view."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import Finding
from tests.web.catalog.conftest import ORDERS, SALARIES, hide
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


def test_what_the_reader_may_not_view_is_not_named(shelves, write, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    hide()
    otto = {"users": ["urn:li:corpuser:otto"]}
    write("manages", displayName="Manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=otto)
    finding = find("people.salaries", values={"entity": SALARIES}, repair="GRANT SELECT ON people.salaries TO x")
    for address in (INBOX, page_of(finding)):
        text = shelves("outsider").get(address).content.decode()
        assert "Something you may not view" in text
        assert "salaries" not in text
        assert "salaries" in shelves("root").get(address).content.decode()


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
