"""What guardrails count beside a privilege is what the interfaces accept in its place: their requirements, walked."""

import pytest

from catalog import urns
from catalog.ingest.required_privileges import build_create_request, build_delete_requests, build_edit_request
from policies.engine.families import datahub, vocabulary
from policies.engine.proofs.ways import list_ways
from policies.engine.requirements import SELF, any_of_requirement
from policies.writes import required_privileges

MANAGED_ASPECTS = {
    "domain": "domainProperties",
    "glossaryNode": "glossaryNodeInfo",
    "glossaryTerm": "glossaryTermInfo",
    "ownershipType": "ownershipTypeInfo",
    "tag": "tagProperties",
}
PEOPLE = {"corpuser": "user", "corpGroup": "group"}


def list_held(privilege, type_):
    return {way.privilege for way in list_ways(privilege) if way.types is None or type_ in way.types}


def list_single(requirement):
    """The privileges each of which suffices by itself on the entity."""
    needs = [alternative[0] for alternative in requirement.any_of if len(alternative) == 1]
    return {name for need in needs if need.relative == SELF for name in need.privileges}


@pytest.mark.parametrize(
    "type_", ["dataset", "chart", "domain", "glossaryNode", "glossaryTerm", "ownershipType", "tag"]
)
def test_creating_editing_and_deleting_an_entity(type_):
    urn = urns.parse(f"urn:li:{type_}:x" if type_ != "dataset" else "urn:li:dataset:(urn:li:dataPlatform:a,b,PROD)")
    assert list_single(build_create_request(urn).requirement) == list_held("CREATE_ENTITY", type_)
    (deletion,) = build_delete_requests(urn)
    assert list_single(deletion.requirement) == list_held("DELETE_ENTITY", type_)
    edit = list_single(build_edit_request(urn, MANAGED_ASPECTS.get(type_, "")).requirement)
    assert edit == list_held("EDIT_ENTITY", type_)


@pytest.mark.parametrize("verb", ["read", "exists"])
def test_reading_an_entity(verb):
    asked = {"read": "VIEW_ENTITY_PAGE", "exists": "EXISTS_ENTITY"}[verb]
    assert list_single(datahub.load_operation_groups()[f"entity.{verb}"]) == list_held(asked, "dataset")


@pytest.mark.parametrize("type_", PEOPLE)
def test_users_and_groups(type_):
    groups, kind = datahub.load_operation_groups(), PEOPLE[type_]
    assert list_single(groups[f"{kind}.update"]) <= list_held("EDIT_ENTITY", type_)
    assert list_single(groups[f"{kind}.delete"]) <= list_held("DELETE_ENTITY", type_)
    created = list_single(groups[f"{kind}.create"])
    assert created == list_held(f"CREATE_{kind.upper()}S", "")


def test_members_profiles_tokens_and_service_accounts():
    assert list_single(required_privileges.group_members()) == list_held("EDIT_GROUP_MEMBERS", "corpGroup")
    for part, privilege in (("title", "EDIT_USER_PROFILE"), ("email", "EDIT_CONTACT_INFO")):
        assert list_single(required_privileges.user_profile(part)) == list_held(privilege, "corpuser")
    assert list_single(required_privileges.MANAGE_OWN_TOKENS) == list_held("GENERATE_PERSONAL_ACCESS_TOKENS", "")
    assert list_single(required_privileges.service_profile()) == list_held("MANAGE_SERVICE_ACCOUNTS", "")


def test_each_umbrella_is_a_way_that_a_deny_of_the_privilege_closes():
    for info in vocabulary.load_datahub().privileges.values():
        if info.umbrella:
            (way,) = [way for way in list_ways(info.name) if way.privilege == info.umbrella]
            assert way.denied == {info.name, info.umbrella}
            requirement = any_of_requirement([[info.name], [info.umbrella]])
            assert requirement.privileges == way.denied
