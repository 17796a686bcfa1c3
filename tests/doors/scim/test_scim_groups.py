"""Groups as Okta and Entra push them."""

import pytest

from policies.authoring.services import policies, policy_drafts
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups
from policies.models import GroupProfile, Membership
from policies.pdp import actor_resolution, authorizer
from tests.doors.scim.conftest import GROUP, PATCH

STAFF = "urn:li:corpGroup:Staff"


@pytest.fixture
def three(connector):
    return [connector.make(name) for name in ("ada", "bo", "cy")]


def external(urn=STAFF):
    rows = Membership.objects.filter(group__profile__urn=urn, is_external=True)
    return sorted(rows.values_list("user__username", flat=True))


def test_okta_pushes_a_group(connector, three):
    ada, bo, cy = three
    asked = {"filter": 'displayName eq "staff"', "startIndex": 1, "count": 100}
    assert connector.names("/Groups", "displayName", **asked) == []
    key = connector.make_group("Staff", ada)
    assert users_groups_roles.get_group(urn=STAFF).origin == GroupProfile.Origin.EXTERNAL
    assert actor_resolution.load_actor(urn="urn:li:corpuser:ada").groups == {STAFF}
    assert not Membership.objects.filter(is_native=True).exists()
    assert connector.names("/Groups", "displayName", **asked) == ["Staff"]
    assert connector.refused("POST", "/Groups", {"schemas": [GROUP], "displayName": "Staff"}) == (409, "uniqueness")
    path = f"/Groups/{key}"
    connector.patch(path, {"op": "replace", "value": {"id": key, "displayName": "Everybody"}}, status=204)
    assert users_groups_roles.get_group(urn=STAFF).name == "Everybody"
    connector.patch(path, {"op": "add", "path": "members", "value": [{"value": bo, "display": "Bo"}]}, status=204)
    assert external() == ["ada", "bo"]
    connector.patch(path, {"op": "remove", "path": f'members[value eq "{ada}"]'}, status=204)
    assert external() == ["bo"]
    connector.patch(path, {"op": "replace", "path": "members", "value": [{"value": cy}]}, status=204)
    assert external() == ["cy"]
    assert actor_resolution.load_actor(urn="urn:li:corpuser:bo").groups == frozenset()
    put = {"schemas": [GROUP], "displayName": "Staff", "externalId": "g1", "members": [{"value": ada}, {"value": bo}]}
    assert connector.told("PUT", path, put)["externalId"] == "g1"
    assert external() == ["ada", "bo"]
    assert connector.send("DELETE", path).status_code == 204
    assert not GroupProfile.objects.filter(urn=STAFF).exists()


def test_entra_pushes_a_group(connector, three):
    ada, bo, cy = three
    key = connector.make_group("Staff")
    path = f"/Groups/{key}"
    assert "members" not in connector.told("GET", path, excludedAttributes="members")
    added = [{"value": ada, "display": "Ada"}, {"value": bo}, {"value": cy}]
    connector.patch(path, {"op": "Add", "path": "members", "value": added}, status=204)
    assert external() == ["ada", "bo", "cy"]
    found = connector.told("GET", f"/Users/{ada}")["groups"]
    assert found == [
        {"value": key, "$ref": f"http://testserver/scim/v2/Groups/{key}", "display": "Staff", "type": "direct"}
    ]
    asked = f'id eq "{key}" and members eq "{bo}"'
    assert connector.names("/Groups", "id", filter=asked, excludedAttributes="members") == [key]
    removed = [{"value": ada, "display": "somebody else"}, {"value": bo}]
    connector.patch(path, {"op": "Remove", "path": "members", "value": removed}, status=204)
    assert external() == ["cy"]
    assert connector.names("/Groups", "id", filter=asked) == []
    connector.patch(path, {"op": "Remove", "path": "members"}, status=204)
    assert external() == []
    assert connector.told("PATCH", path, _patch("Add", [{"value": ada}]), attributes="members")["members"]


def _patch(op, value):
    return {"schemas": [PATCH], "Operations": [{"op": op, "path": "members", "value": value}]}


def test_operations_are_one_after_the_other(connector, three):
    ada, bo, cy = three
    path = f"/Groups/{connector.make_group('Staff', ada)}"

    def op(name, *keys, **more):
        return {"op": name, "path": "members", "value": [{"value": key} for key in keys], **more}

    one = {"op": "remove", "path": f'members[value eq "{bo}"]'}
    for operations, left in (
        ([op("add", bo, cy), one], ["ada", "cy"]),
        ([op("remove", cy), op("add", cy, cy)], ["ada", "cy"]),
        ([op("replace", bo), op("add", cy)], ["bo", "cy"]),
        ([{"op": "remove", "path": "members"}, op("add", ada)], ["ada"]),
        ([{"op": "add", "value": {"members": [{"value": bo}], "displayName": "Crew"}}], ["ada", "bo"]),
        ([{"op": "replace", "value": {"Members": [{"value": cy}]}}], ["cy"]),
        ([op("remove", "no id", ada), {"op": "remove", "path": 'members[value eq "no id"]'}], ["cy"]),
        ([{"op": "remove", "path": f'members[value eq "{cy}" and type eq "User"]'}], []),
        ([op("add"), op("add", ada)], ["ada"]),
        ([op("replace")], []),
    ):
        connector.patch(path, *operations, status=204)
        assert external() == left, operations
    assert connector.told("GET", path)["displayName"] == "Crew"
    answer = connector.told("PATCH", path, _patch("add", [{"value": ada}]), excludedAttributes="displayName")
    assert answer["members"][0]["value"] == ada


def test_members_by_hand_are_nobody_elses_business(connector, three):
    ada, bo, _ = three
    crew = groups.create(
        name="Crew", identifier="Staff", members=["urn:li:corpuser:ada"], by=authorizer.SYSTEM, channel="x"
    )
    path = f"/Groups/{crew.scim_id}"
    assert "members" not in connector.told("GET", path)
    connector.patch(path, {"op": "add", "path": "members", "value": [{"value": ada}, {"value": bo}]}, status=204)
    connector.patch(path, {"op": "remove", "path": "members"}, status=204)
    assert users_groups_roles.list_members(group=crew).get().username == "ada"
    assert external() == []
    # A name that is taken as an id gives the new group one of its own.
    made = connector.make_group("Staff")
    assert GroupProfile.objects.get(scim_id=made).urn != STAFF


@pytest.mark.parametrize(
    "members",
    [
        [{"value": "00000000-0000-0000-0000-000000000000"}],
        [{"value": "ada"}],
        [{"value": None}],
        [{}],
        [{"value": "GROUP", "type": "Group"}],
        "ada",
        [["ada"]],
        [5],
    ],
)
def test_members_that_are_none(connector, members):
    key = connector.make_group("Staff")
    if members == [{"value": "GROUP", "type": "Group"}]:
        members = [{"value": key, "type": "Group"}]
    status, kind = connector.refused("PATCH", f"/Groups/{key}", _patch("add", members))
    assert (status, kind) == (400, "invalidValue")
    body = {"schemas": [GROUP], "displayName": "Other", "members": members}
    assert connector.refused("POST", "/Groups", body)[0] == 400
    assert external() == []


@pytest.mark.parametrize("name", ["a, b (c)", "x" * 250, "Zoë 😀"])
def test_names_of_all_kinds(connector, name):
    key = connector.make_group(name)
    assert connector.told("GET", f"/Groups/{key}")["displayName"] == name


@pytest.mark.parametrize("name", ["", " ", "x" * 256, None, 5])
def test_names_that_are_none(connector, name):
    body = {"schemas": [GROUP], "displayName": name}
    assert connector.refused("POST", "/Groups", body)[0] == 400


def test_a_member_has_no_field_that_nobody_evaluates(connector, three):
    """A date after which somebody is a member no more must not be taken for a membership without an end."""
    member = {"value": connector.make("eve@example.com"), "validTo": "2030-01-01"}
    path = f"/Groups/{connector.make_group('Crew')}"
    group = {"schemas": [GROUP], "displayName": "Crew", "members": [member]}
    assert connector.refused("POST", "/Groups", group | {"displayName": "Others"}) == (400, "invalidValue")
    assert connector.refused("PUT", path, group) == (400, "invalidValue")
    for operation in (
        {"op": "add", "path": "members", "value": [member]},
        {"op": "replace", "value": {"members": [member]}},
    ):
        body = {"schemas": [PATCH], "Operations": [operation]}
        assert connector.refused("PATCH", path, body) == (400, "invalidValue")
    assert "members" not in connector.told("GET", path)
    whole = {"value": member["value"], "type": "User", "display": "Eve", "$ref": "x"}
    connector.patch(path, {"op": "add", "path": "members", "value": [whole]}, status=204)
    assert connector.told("PUT", path, group | {"members": [whole]})["members"][0]["value"] == member["value"]


def test_leaving_a_group_that_policies_deny_gives_only_what_the_connector_holds(connector, three):
    ada, bo, _ = three
    path = f"/Groups/{connector.make_group('Staff', ada, bo)}"
    for effect, actors in (("ALLOW", {"users": ["urn:li:corpuser:ada"]}), ("DENY", {"groups": [STAFF]})):
        document = {"displayName": effect, "type": "PLATFORM", "state": "ACTIVE", "privileges": ["MANAGE_TAGS"]}
        draft = policy_drafts.PolicyInput("datahub", document | {"effect": effect, "actors": actors})
        policies.create(draft=draft, by=authorizer.SYSTEM, channel="test")
    connector.patch(path, {"op": "remove", "path": f'members[value eq "{bo}"]'}, status=204)
    connector.patch(path, {"op": "remove", "path": f'members[value eq "{ada}"]'}, status=403)
    refusal = connector.send("DELETE", path)
    assert (refusal.status_code, "Staff cannot be deleted: urn:li:dataHubPolicy:" in refusal.json()["detail"]) == (
        409,
        True,
    )
    assert external() == ["ada"]
