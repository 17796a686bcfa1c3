"""Settings > Audit: the decision log and the record of changes as pages."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.services import policies
from policies.decisions.pages import change_wording
from policies.identity.services import users
from policies.models import ChangeEvent, ChangeSet, LoggedDecision, PolicyEvent, Verb
from policies.pdp import authorizer
from tests.web.conftest import DOOR
from tests.web.test_why import words

LOG = "/settings/audit"
OTTO = "urn:li:corpuser:otto"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


def log(count=1, **changes):
    known = {
        "actor": OTTO,
        "by": OTTO,
        "door": "api",
        "request_id": "",
        "operation": "",
        "wanted": "EDIT_ENTITY_TAGS",
        "resource": ORDERS,
        "resource_type": "dataset",
        "sub_resources": [],
        "is_allowed": False,
        "code": "implicit_deny",
        "policy_version": 3,
        "statements": [],
        "milliseconds": 1.25,
    }
    start = timezone.now()
    LoggedDecision.objects.bulk_create(
        LoggedDecision(at=start - timedelta(seconds=number), **known | changes) for number in range(count)
    )


def test_a_decision_is_shown_with_who_what_and_why(browse, world, write):
    policy = write("tags", displayName="Tags <for> all")
    said = {"policy": policy.urn, "name": policy.name, "statement": 0, "effect": "allow"}
    apply.apply(
        proposals=[Proposal(ORDERS, "datasetProperties", '{"name": "Orders of today"}')],
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    log(is_allowed=True, code="allowed", statements=[said], by="urn:li:corpuser:stella")
    page = browse("root").get(LOG)
    text = words(page)
    for word in ("Otto Outsider", "asked by Stella Steward", "Orders of today", "Allowed", "1.250 ms", "through API"):
        assert word in text
    # Counted as the editor and the page of restrictions count them.
    assert "statement 1" in text
    assert f'href="/settings/permissions/policies/{policy.urn}">Tags &lt;for&gt; all<' in page.content.decode()


def test_filters_narrow_and_nonsense_narrows_nothing(browse, world):
    log()
    log(actor="urn:li:corpuser:ada", wanted="MANAGE_TAGS", resource="", resource_type="", is_allowed=True)
    root = browse("root")

    def shown(query):
        return [one["row"].wanted for one in root.get(f"{LOG}?{query}").context["rows"]]

    assert shown("actor=otto") == shown("decision=DENY") == shown(f"resource={ORDERS}") == ["EDIT_ENTITY_TAGS"]
    assert shown("privilege=MANAGE_TAGS") == shown("actor=urn:li:corpuser:ada") == ["MANAGE_TAGS"]
    assert shown("since=2099-01-01T00:00") == shown("door=pages") == []
    assert len(shown("since=never&before=nowhere&decision=PERHAPS&size=7")) == 2
    assert "Ask a question" in words(root.get(f"{LOG}?door=pages"))
    part = root.get(f"{LOG}?actor=otto", headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()


def test_pages_lead_on_and_back_without_counting(browse, world):
    log(60)
    root = browse("root")
    first = root.get(f"{LOG}?actor=otto&size=25")
    assert (len(first.context["rows"]), first.context["newer"]) == (25, "")
    second = root.get(f"{LOG}?actor=otto&size=25&before={first.context['older']}")
    third = root.get(f"{LOG}?actor=otto&size=25&before={second.context['older']}")
    assert (len(third.context["rows"]), third.context["older"]) == (10, "")
    back = root.get(f"{LOG}?actor=otto&size=25&after={third.context['newer']}")
    assert [one["row"].pk for one in back.context["rows"]] == [one["row"].pk for one in second.context["rows"]]
    assert "Newest decisions" in words(third)
    with CaptureQueriesContext(connection) as asked:
        root.get(LOG)
    assert not any("COUNT" in query["sql"] and "loggeddecision" in query["sql"] for query in asked)


def test_a_page_costs_as_many_queries_for_many_rows_as_for_one(browse, world, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    root = browse("root")
    found = []
    for count in (1, 20):
        log(count, resource=ORDERS.replace("orders", f"orders{count}"))
        root.get(LOG)
        with CaptureQueriesContext(connection) as asked:
            root.get(LOG)
        found.append(len(asked))
    assert found[0] == found[1]


def test_what_the_reader_may_not_view_is_not_named(browse, world, settings, write):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    proposal = Proposal(ORDERS, "datasetProperties", '{"name": "Orders of today"}')
    apply.apply(proposals=[proposal], by=authorizer.SYSTEM, channel=DOOR)
    world["outsider"] = users.create(username="mona", by=authorizer.SYSTEM, channel=DOOR)
    policies.set_state(
        urn="urn:li:dataHubPolicy:view-entity-page-all", state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR
    )
    mona = {"users": ["urn:li:corpuser:mona"]}
    write("manages", displayName="Manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=mona)
    log()
    page = browse("outsider").get(LOG).content.decode()
    assert "Something you may not view" in page
    assert ORDERS not in page
    assert "Orders of today" not in page


def test_a_change_of_a_policy_names_its_channel(browse, world, write):
    write("tags", displayName="Tags for all")
    text = words(browse("root").get(f"{LOG}/policies"))
    assert f"through {DOOR}" in text
    assert "through Bootstrap" in text


def test_changes_are_shown_with_before_and_after(browse, world, write):
    policy = write("tags", displayName="Tags for all")
    users.suspend(urn=OTTO, by=authorizer.SYSTEM, channel=DOOR)
    root = browse("root")
    page = root.get(f"{LOG}/policies?object={policy.urn}")
    assert [row["event"].verb for row in page.context["rows"]] == ["CREATED"]
    assert f"/settings/permissions/policies/versions/1/{policy.urn}" in page.content.decode()
    page = root.get(f"{LOG}/people?object={OTTO}&verb=SUSPENDED")
    (row,) = page.context["rows"]
    assert '"state": "ACTIVE"' in row["before"]
    assert '"state": "SUSPENDED"' in row["after"]
    assert root.get(f"{LOG}/people?by=nobody").context["rows"] == []


@pytest.mark.parametrize("address", [LOG, f"{LOG}/policies", f"{LOG}/people"])
def test_who_does_not_manage_policies_sees_nothing_of_it(browse, address):
    assert browse("steward").get(address).status_code == 403


STATES = [(None, None), (None, {"a": "new"}), ({"a": "old"}, None), ({"a": "old"}, {"a": "new"})]


@pytest.mark.parametrize("table", ["policies", "people"])
def test_every_kind_of_change_is_told_as_it_was(browse, world, settings, table):
    """Nothing is said to have been created or deleted that was not, whatever is recorded of before and after."""
    settings.AUTH_POLICIES_ENABLED = False  # the pages of versions, which tell of policies otherwise, are not there
    urn = "urn:li:dataHubPolicy:told"
    created = {"CREATED", "TOKEN_CREATED", "INVITE_CREATED", "RESET_CREATED"}
    ended = {"DELETED": "deleted", "TOKEN_REVOKED": "revoked", "INVITE_REVOKED": "revoked"}
    root = browse("root")
    for verb in Verb.values:
        for before, after in STATES:
            known = {"name": "told", "verb": verb, "by": OTTO, "before": before, "after": after, "door": DOOR}
            if table == "policies":
                event: PolicyEvent | ChangeEvent = PolicyEvent.objects.create(
                    **known, policy_urn=urn, family="datahub", version=1, policy_version=1
                )
            else:
                change_set = ChangeSet.objects.create()
                event = ChangeEvent.objects.create(**known, object_urn=urn, change_set=change_set)
            text = words(root.get(f"{LOG}/{table}?object={urn}"))
            row = text[text.index("Otto Outsider") :]
            sentence = change_wording.SENTENCES[Verb(verb)]
            assert sentence in row, (verb, before, after)
            has_states = before is not None or after is not None
            assert ("Before and after" in row) == has_states
            assert ("It did not exist." in row) == (has_states and before is None and verb in created), (verb, before)
            for word in ("deleted", "revoked"):
                is_said = has_states and after is None and ended.get(verb) == word
                assert (f"After It was {word}." in row) == is_said, (verb, after)
            nothing = (before is None and verb not in created, after is None and verb not in ended)
            assert row.count("Nothing is recorded.") == (sum(nothing) if has_states else 0)
            event.delete()


def test_a_password_that_was_set_is_told_in_a_sentence(browse, world):
    users.set_password(urn=OTTO, password="correct horse battery 9", by=authorizer.SYSTEM, channel=DOOR)
    text = words(browse("root").get(f"{LOG}/people?object={OTTO}&verb=PASSWORD_SET"))
    assert "A password was set; passwords are not recorded." in text
    for false_word in ("did not exist", "was deleted", "Nothing is recorded"):
        assert false_word not in text
