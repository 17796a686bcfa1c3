"""Giving, taking and listing grants over HTTP (rules/cdap.md CD-2 to CD-5, CD-17 to CD-19; api.md section 2)."""

from collections.abc import Callable
from typing import Any

import pytest
from guardian.shortcuts import get_perms
from rest_framework.test import APIClient

from catalog.access.grant_source import GrantList
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity, EntityUserGrant, WildcardGrant
from policies.identity.services import groups, roles, users
from policies.models import ChangeEvent, User
from policies.pdp import authorizer
from tests.cdap.conftest import DOOR, INSTANCE, ROOT, do, give, may, missing, register, urn

GRANTS = "/api/v1/grants"
ALL = ["READ", "WRITE", "EXECUTE", "ADMIN"]

ClientOf = Callable[..., APIClient]


def grant(principal: str, entity: str, *privileges: str, **more: Any) -> dict[str, Any]:
    """Return a grant as it is sent."""
    return {"principal": urn(principal), "entity": urn(entity), "privileges": list(privileges), **more}


def post(client: APIClient, sent: object) -> Any:
    return client.post(GRANTS, sent, format="json")


def delete(client: APIClient, sent: object) -> Any:
    return client.delete(GRANTS, sent, format="json")


def rows(client: APIClient, **filters: Any) -> list[tuple[str, str, list[str]]]:
    """Return the grants of a page."""
    answer = client.get(GRANTS, filters)
    assert answer.status_code == 200, answer.content
    return [(one["principal"], one["entity"], one["privileges"]) for one in answer.json()["results"]]


@pytest.fixture
def alice(client_of: ClientOf) -> APIClient:
    """A user; the namespace ns1 and the stream ns1.clicks are there, granted to nobody."""
    register("namespace:ns1", "stream:ns1.clicks")
    return client_of("alice")


def test_all_stands_for_the_four_and_what_is_held_stays_cd_2(root: APIClient, alice: APIClient):
    sent = grant("alice", "stream:ns1.clicks", "ADMIN", "READ")
    answer = post(root, sent)
    assert answer.status_code == 201
    assert answer.json() == {**sent, "privileges": ["READ", "ADMIN"]}
    assert post(root, grant("alice", "stream:ns1.clicks", "ALL")).json()["privileges"] == ALL
    assert rows(root, entity=urn("stream:ns1.clicks")) == [(urn("alice"), urn("stream:ns1.clicks"), ALL)]
    row = Entity.objects.get(urn=urn("stream:ns1.clicks"))
    assert set(get_perms(User.objects.get(urn=urn("alice")), row)) == set(ALL)
    given = EntityUserGrant.objects.filter(content_object=row)
    assert set(given.values_list("given_by", flat=True)) == {ROOT}


@pytest.mark.parametrize("held", ALL)
def test_no_privilege_gives_another_cd_3(root: APIClient, alice: APIClient, held: str):
    post(root, grant("alice", "stream:ns1.clicks", held))
    allowed = [
        privilege
        for privilege in ALL
        if alice.post(
            "/api/v1/authorize",
            {"privilege": privilege, "resource": {"urn": urn("stream:ns1.clicks")}},
            format="json",
        ).json()["decision"]
        == "ALLOW"
    ]
    assert allowed == [held]


def test_reasons_name_the_grant(root: APIClient, alice: APIClient):
    give("alice", "stream:ns1.clicks", "READ")
    give("alice", "stream:ns1.*", "WRITE")
    question = {"privilege": "READ", "resource": {"urn": urn("stream:ns1.clicks")}, "explain": True}
    found = alice.post("/api/v1/authorize", question, format="json").json()
    assert (found["decision"], [one["name"] for one in found["reasons"]]) == ("ALLOW", ["Grant"])
    assert found["reasons"][0]["because"] == "Alice is named; the stream is ns1.clicks."
    question["privilege"] = "WRITE"
    found = alice.post("/api/v1/authorize", question, format="json").json()
    assert [one["name"] for one in found["reasons"]] == ["Grant on urn:li:stream:ns1.*"]
    question["privilege"] = "EXECUTE"
    found = alice.post("/api/v1/authorize", question, format="json").json()
    assert (found["decision"], found["unknown"]) == ("DENY", [])


def test_giving_needs_admin_on_the_entity_or_the_instance_cd_18(root: APIClient, alice: APIClient, client_of: ClientOf):
    client_of("bob")
    sent = grant("bob", "stream:ns1.clicks", "READ")
    for privilege in ("READ", "WRITE", "EXECUTE"):
        give("alice", "stream:ns1.clicks", privilege)
    give("alice", "namespace:ns1", "ADMIN")
    for refused in (post(alice, sent), delete(alice, sent), alice.get(GRANTS, {"entity": urn("stream:ns1.clicks")})):
        assert refused.status_code == 403
        assert refused.json()["missing"] == missing(("stream:ns1.clicks", "ADMIN"))
    give("alice", "stream:ns1.clicks", "ADMIN")
    assert post(alice, sent).status_code == 201
    assert delete(alice, sent).status_code == 204


def test_instance_administrators_come_from_the_settings_cd_18(
    root: APIClient, alice: APIClient, client_of: ClientOf, settings
):
    assert may(root, "namespace.create", "namespace:ns2")["decision"] == "ALLOW"
    settings.CDAP_INSTANCE_ADMINS = ["alice", "urn:li:corpGroup:keepers"]
    assert may(root, "namespace.create", "namespace:ns2")["decision"] == "DENY"
    assert post(root, grant("alice", "stream:ns1.clicks", "READ")).status_code == 403
    assert post(alice, grant("alice", "stream:ns1.clicks", "READ")).status_code == 201
    bob = client_of("bob")
    groups.create(name="Keepers", identifier="keepers", members=[urn("bob")], by=authorizer.SYSTEM, channel=DOOR)
    assert do(bob, "namespace.create", "namespace:ns2").status_code == 200
    assert rows(alice, entity=INSTANCE) == [(urn("group:keepers"), INSTANCE, ALL), (urn("alice"), INSTANCE, ALL)]


def test_the_last_instance_administrator_cannot_be_removed_cd_18(root: APIClient, alice: APIClient):
    assert rows(root, entity=INSTANCE) == [(ROOT, INSTANCE, ALL)]
    for sent in (grant("datahub", INSTANCE, "ADMIN"), grant("datahub", INSTANCE, "ALL", confirm=True)):
        assert delete(root, sent).status_code == 409
    assert may(root, "namespace.create", "namespace:ns2")["decision"] == "ALLOW"


def test_the_last_admin_falls_to_the_instance_administrators_when_confirmed_cd_19(root: APIClient, alice: APIClient):
    give("alice", "stream:ns1.clicks", "READ", "ADMIN")
    sent = {"principal": urn("alice"), "entity": urn("stream:ns1.clicks")}
    refused = delete(alice, sent)
    assert refused.status_code == 409
    assert rows(root, entity=urn("stream:ns1.clicks")) == [(urn("alice"), urn("stream:ns1.clicks"), ["READ", "ADMIN"])]
    assert delete(alice, {**sent, "privileges": ["READ"]}).status_code == 204
    assert delete(alice, {**sent, "confirm": True}).status_code == 204
    assert rows(root, entity=urn("stream:ns1.clicks")) == [(ROOT, urn("stream:ns1.clicks"), ["ADMIN"])]


def test_somebody_else_who_may_act_keeps_it_cd_19(root: APIClient, alice: APIClient, client_of: ClientOf):
    client_of("bob")
    give("alice", "stream:ns1.clicks", "ADMIN")
    give("bob", "stream:ns1.clicks", "ADMIN")
    users.update(urn=urn("bob"), state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    assert delete(alice, grant("alice", "stream:ns1.clicks", "ADMIN")).status_code == 409
    users.update(urn=urn("bob"), state="ACTIVE", by=authorizer.SYSTEM, channel=DOOR)
    assert delete(alice, grant("alice", "stream:ns1.clicks", "ADMIN")).status_code == 204
    give("alice", "stream:ns1.*", "ADMIN")
    assert delete(root, grant("bob", "stream:ns1.clicks", "ADMIN")).status_code == 204
    # The pattern was the last ADMIN of what it stands for.
    assert delete(root, grant("alice", "stream:ns1.*", "ADMIN")).status_code == 409
    assert delete(root, grant("alice", "stream:ns1.*", "ADMIN", confirm=True)).status_code == 204
    assert rows(root, principal=ROOT, entity=urn("stream:ns1.clicks")) == [(ROOT, urn("stream:ns1.clicks"), ["ADMIN"])]


def test_a_list_takes_admin_from_all_at_once_cd_19(root: APIClient, alice: APIClient, client_of: ClientOf):
    client_of("bob")
    give("alice", "stream:ns1.clicks", "ADMIN")
    give("bob", "stream:ns1.clicks", "ADMIN")
    both = [grant("alice", "stream:ns1.clicks", "ADMIN"), grant("bob", "stream:ns1.clicks", "ADMIN")]
    assert delete(root, both).status_code == 409
    assert len(rows(root, entity=urn("stream:ns1.clicks"))) == 2
    assert delete(root, [{**one, "confirm": True} for one in both]).status_code == 204
    assert rows(root, entity=urn("stream:ns1.clicks")) == [(ROOT, urn("stream:ns1.clicks"), ["ADMIN"])]


def test_taking_what_is_not_held_is_no_problem(root: APIClient, alice: APIClient):
    assert delete(root, grant("alice", "stream:ns1.clicks", "ALL")).status_code == 204
    assert not ChangeEvent.objects.filter(object_urn=urn("stream:ns1.clicks")).exists()


def test_a_list_is_all_or_nothing(root: APIClient, alice: APIClient):
    good = grant("alice", "stream:ns1.clicks", "READ")
    sent = [good, grant("nobody", "stream:ns1.clicks", "READ"), grant("alice", "stream:ns1.gone", "READ")]
    answer = post(root, sent)
    assert answer.status_code == 400
    assert {one["pointer"] for one in answer.json()["errors"]} == {"/1/principal", "/2/entity"}
    assert not EntityUserGrant.objects.exists()
    answer = post(root, [good, grant("alice", "namespace:ns1", "ALL")])
    assert answer.status_code == 201
    assert [one["privileges"] for one in answer.json()] == [["READ"], ALL]
    assert post(root, [good] * 1001).json()["errors"][0]["code"] == "list.too_long"


def test_a_thousand_grants_cost_few_queries(root: APIClient, alice: APIClient, django_assert_max_num_queries):
    register(*[f"stream:ns1.s{number}" for number in range(1000)])
    sent = [grant("alice", f"stream:ns1.s{number}", "ALL") for number in range(1000)]
    with django_assert_max_num_queries(70):
        assert post(root, sent).status_code == 201
    with django_assert_max_num_queries(70):
        assert len(rows(root, page_size=200)) == 200
    with django_assert_max_num_queries(90):
        assert delete(root, [{**one, "confirm": True} for one in sent]).status_code == 204
    assert EntityUserGrant.objects.filter(user__urn=ROOT).count() == 1000


@pytest.mark.parametrize(
    ("sent", "pointers"),
    [
        ({}, {"/principal", "/entity", "/privileges"}),
        ([], set()),
        ("text", {""}),
        ([1], {"/0"}),
        (grant("alice", "stream:ns1.clicks"), {"/privileges"}),
        (grant("alice", "stream:ns1.clicks", "OWN"), {"/privileges/0"}),
        (grant("alice", "stream:ns1.clicks", "read"), {"/privileges/0"}),
        (grant("alice", "stream:ns1.clicks", "READ", more=1), {"/more"}),
        (grant("alice", "stream:ns1.clicks", "READ", confirm=True), {"/confirm"}),
        ({"principal": "alice", "entity": "clicks", "privileges": "READ"}, {"/principal", "/entity", "/privileges"}),
        (grant("stream:ns1.clicks", "alice", "READ"), {"/principal"}),
        (grant("alice", "urn:li:corpuser:alice", "READ"), {"/entity"}),
        (grant("alice", "stream:*.clicks", "READ"), {"/entity"}),
        (grant("alice", "stream:ns2.*", "READ"), {"/entity"}),
        (grant("alice", "program:ns1.app.*", "READ"), {"/entity"}),
        (grant("nobody", "stream:ns1.clicks", "READ"), {"/principal"}),
        (grant("role:nothing", "stream:ns1.clicks", "READ"), {"/principal"}),
    ],
)
def test_bad_grants_are_answered_with_every_problem(root: APIClient, alice: APIClient, sent: object, pointers: set):
    answer = post(root, sent)
    if not pointers:
        assert answer.status_code == 201
        return
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert {one["pointer"] for one in answer.json()["errors"]} == pointers
    assert not EntityUserGrant.objects.exists()
    assert not WildcardGrant.objects.exists()


def test_who_may_not_grant_learns_nothing_about_what_there_is_cd_22(alice: APIClient):
    there, gone = (grant("alice", f"stream:ns1.{name}", "READ") for name in ("clicks", "gone"))
    answers = [post(alice, sent) for sent in (there, gone, {**gone, "principal": urn("nobody")})]
    assert [answer.status_code for answer in answers] == [403, 403, 403]


def test_patterns_are_granted_by_who_administers_all_they_stand_for_cd_5(
    root: APIClient, alice: APIClient, client_of: ClientOf
):
    client_of("bob")
    give("alice", "namespace:ns1", "ALL")
    give("alice", "stream:ns1.clicks", "ALL")
    sent = grant("bob", "stream:ns1.*", "READ")
    assert post(alice, sent).status_code == 403
    short = {**grant("alice", "stream:ns1.clicks", "ADMIN"), "entity": "stream:ns1.*"}
    given = post(root, short)
    assert (given.status_code, given.json()["entity"]) == (201, "urn:li:stream:ns1.*")
    assert post(alice, sent).status_code == 201
    assert post(alice, grant("bob", "stream:ns1.cl*", "READ")).status_code == 201
    assert post(alice, grant("bob", "stream:*", "READ")).status_code == 403
    assert rows(alice, entity="stream:ns1.*") == [
        (urn("alice"), "urn:li:stream:ns1.*", ["ADMIN"]),
        (urn("bob"), "urn:li:stream:ns1.*", ["READ"]),
    ]


def test_the_list_holds_what_the_caller_administers(root: APIClient, alice: APIClient, client_of: ClientOf):
    client_of("bob")
    roles.create(name="Reader", identifier="r", by=authorizer.SYSTEM, channel=DOOR)
    register("stream:ns1.other")
    give("alice", "stream:ns1.clicks", "ADMIN")
    give("role:r", "stream:ns1.clicks", "READ")
    give("bob", "stream:ns1.other", "ALL")
    give("bob", "stream:ns1.*", "EXECUTE")
    mine = [
        (urn("alice"), urn("stream:ns1.clicks"), ["ADMIN"]),
        (urn("role:r"), urn("stream:ns1.clicks"), ["READ"]),
    ]
    assert rows(alice) == mine
    assert rows(alice, principal=urn("role:r")) == mine[1:]
    assert rows(alice, principal=urn("bob")) == []
    everything = rows(root)
    assert len(everything) == 5
    assert everything[0] == (ROOT, INSTANCE, ALL)
    assert sorted(everything[1:], key=lambda row: (row[1], row[0])) == everything[1:]
    paged = [row for page in range(1, 7) for row in rows(root, page=page, page_size=1)]
    assert paged == everything
    answer = root.get(GRANTS, {"page_size": "2", "principal": urn("bob")}).json()
    assert (answer["count"], answer["next"], answer["previous"]) == (2, None, None)


@pytest.mark.parametrize(
    ("filters", "pointer"),
    [
        ({"entity": "clicks"}, "/entity"),
        ({"principal": "urn:li:tag:x"}, "/principal"),
        ({"page": "0"}, "/page"),
        ({"privilege": "READ"}, "/privilege"),
    ],
)
def test_bad_filters_are_refused(root: APIClient, filters: dict[str, str], pointer: str):
    answer = root.get(GRANTS, filters)
    assert answer.status_code == 400
    assert {one["pointer"] for one in answer.json()["errors"]} == {pointer}


def test_grants_end_with_their_principal_cd_17(root: APIClient, alice: APIClient, client_of: ClientOf):
    client_of("bob")
    groups.create(name="Team", identifier="team", by=authorizer.SYSTEM, channel=DOOR)
    roles.create(name="Reader", identifier="r", by=authorizer.SYSTEM, channel=DOOR)
    for principal in ("bob", "group:team", "role:r"):
        give(principal, "stream:ns1.clicks", "READ")
        give(principal, "stream:ns1.*", "WRITE")
    users.remove(urn=urn("bob"), by=authorizer.SYSTEM, channel=DOOR)
    groups.remove(urn=urn("group:team"), by=authorizer.SYSTEM, channel=DOOR)
    roles.delete(urn=urn("role:r"), by=authorizer.SYSTEM, channel=DOOR)
    assert rows(root) == [(ROOT, INSTANCE, ALL)]


def test_a_removed_group_has_no_grants_in_the_list_cd_17(root: APIClient, alice: APIClient, client_of: ClientOf):
    groups.create(name="Team", identifier="team", members=[urn("alice")], by=authorizer.SYSTEM, channel=DOOR)
    for entity in ("stream:ns1.clicks", "stream:ns1.*"):
        give("group:team", entity, "READ")
    question = {"privilege": "READ", "resource": {"urn": urn("stream:ns1.clicks")}}
    of_team = [(urn("group:team"), urn(entity), ["READ"]) for entity in ("stream:ns1.*", "stream:ns1.clicks")]
    decisions = []
    for is_removed in ("true", "false"):
        status = Proposal(urn("group:team"), "status", f'{{"removed": {is_removed}}}')
        apply.apply(proposals=[status], by=authorizer.SYSTEM, channel=DOOR)
        decisions.append(alice.post("/api/v1/authorize", question, format="json").json()["decision"])
        expected = of_team if decisions[-1] == "ALLOW" else []
        assert rows(root) == [(ROOT, INSTANCE, ALL), *expected]
        assert rows(root, principal=urn("group:team")) == expected
        assert rows(root, entity="stream:ns1.*") == expected[:1]
    assert decisions == ["DENY", "ALLOW"]


@pytest.mark.parametrize("part", [slice(None), slice(1, None), slice(None, 2), slice(0, 9), slice(5, 9)])
def test_the_list_is_a_sequence(root: APIClient, alice: APIClient, part: slice):
    for privilege, entity in (("READ", "stream:ns1.clicks"), ("WRITE", "namespace:ns1")):
        give("alice", entity, privilege)
    grants = GrantList(entities=None, patterns=[], principal="", with_instance=True)
    assert grants[part] == list(grants)[part]
    assert len(grants) == len(list(grants)) == 3
    for refused in (-1, slice(-2, None), slice(0, 3, 2)):
        with pytest.raises(ValueError, match="from its start"):
            grants[refused]


def test_every_change_is_recorded(root: APIClient, alice: APIClient):
    post(root, grant("alice", "stream:ns1.clicks", "READ"))
    post(root, grant("alice", "stream:ns1.clicks", "READ"))
    delete(root, grant("alice", "stream:ns1.clicks", "ALL"))
    found = ChangeEvent.objects.filter(object_urn=urn("stream:ns1.clicks")).order_by("id")
    said = [(one.by, one.before["privileges"], one.after["privileges"]) for one in found]
    assert said == [(ROOT, [], ["READ"]), (ROOT, ["READ"], [])]


def test_who_and_what_agree_with_the_decision(root: APIClient, alice: APIClient, client_of: ClientOf):
    checker = client_of("checker", "CHECK_ACCESS")
    roles.create(name="Reader", identifier="r", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(name="Team", identifier="team", by=authorizer.SYSTEM, channel=DOOR)
    register("stream:ns1.other", "dataset:ns1.sales")
    give("alice", "stream:ns1.clicks", "READ")
    give("alice", "dataset:ns1.*", "READ")
    give("role:r", "stream:ns1.clicks", "READ")
    give("group:team", "stream:ns1.*", "READ")
    give("group:team", "stream:ns1.clicks", "WRITE")
    question = {"privilege": "READ", "resource": {"urn": urn("stream:ns1.clicks")}}
    found = checker.post("/api/v1/who", question, format="json").json()
    assert (found["users"], found["groups"], found["roles"]) == ([urn("alice")], [urn("group:team")], [urn("role:r")])
    assert (found["all_users"], found["all_groups"]) == (False, False)
    what = checker.post("/api/v1/what", {"actor": urn("alice"), "privilege": "READ"}, format="json").json()
    assert [one["urn"] for one in what["results"]] == [urn("stream:ns1.clicks"), urn("dataset:ns1.sales")]
    nothing = checker.post("/api/v1/what", {"actor": urn("alice"), "privilege": "WRITE"}, format="json").json()
    assert nothing["count"] == 0


def test_the_registry_lists_the_privileges_of_grants(root: APIClient):
    found = root.get("/api/v1/privileges/", {"family": "cdap"}).json()["results"]
    assert [one["name"] for one in found] == ALL
