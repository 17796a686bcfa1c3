"""What mutations say of targets that are unknown or removed: users and groups are refused, entities stay attachable."""

from collections.abc import Callable
from typing import Any

import pytest

from policies.identity.services import groups, users
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT, calling, proposal

pytestmark = pytest.mark.django_db

TABLE, TAG = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.orders,PROD)", "urn:li:tag:pii"
JO, CREW, NOBODY = "urn:li:corpuser:jo", "urn:li:corpGroup:crew", "urn:li:corpuser:nobody"
GONE_TAG, GONE_TERM, GONE_DOMAIN = "urn:li:tag:gone", "urn:li:glossaryTerm:gone", "urn:li:domain:gone"
MADE_UP = "urn:li:{}:made-up"
RESOURCES = [{"resourceUrn": TABLE}]


def owner_input(owner: str, member: str = "ownerUrn") -> dict[str, str]:
    kind = "CORP_USER" if "corpuser" in owner else "CORP_GROUP"
    return {member: owner, **({"ownerEntityType": kind} if member == "ownerUrn" else {}), "type": "NONE"}


#: Mutation -> its input type, and the input that names a target.
OWNER_MUTATIONS: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "addOwner": ("AddOwnerInput", lambda owner: {**owner_input(owner), "resourceUrn": TABLE}),
    "addOwners": ("AddOwnersInput", lambda owner: {"owners": [owner_input(owner)], "resourceUrn": TABLE}),
    "batchAddOwners": ("BatchAddOwnersInput", lambda owner: {"owners": [owner_input(owner)], "resources": RESOURCES}),
    "updateTag": (
        "TagUpdateInput",
        lambda owner: {"urn": TAG, "name": "PII", "ownership": {"owners": [owner_input(owner, "owner")]}},
    ),
}
ENTITY_MUTATIONS: dict[str, tuple[str, str, Callable[[str], dict[str, Any]]]] = {
    "addTag": ("TagAssociationInput", GONE_TAG, lambda tag: {"tagUrn": tag, "resourceUrn": TABLE}),
    "addTags": ("AddTagsInput", GONE_TAG, lambda tag: {"tagUrns": [tag], "resourceUrn": TABLE}),
    "batchAddTags": ("BatchAddTagsInput", GONE_TAG, lambda tag: {"tagUrns": [tag], "resources": RESOURCES}),
    "addTerm": ("TermAssociationInput", GONE_TERM, lambda term: {"termUrn": term, "resourceUrn": TABLE}),
    "addTerms": ("AddTermsInput", GONE_TERM, lambda term: {"termUrns": [term], "resourceUrn": TABLE}),
    "batchAddTerms": ("BatchAddTermsInput", GONE_TERM, lambda term: {"termUrns": [term], "resources": RESOURCES}),
    "batchSetDomain": (
        "BatchSetDomainInput",
        GONE_DOMAIN,
        lambda domain: {"domainUrn": domain, "resources": RESOURCES},
    ),
}


def mutation_of(name: str, input_type: str) -> str:
    if name == "updateTag":
        return f'mutation ($input: {input_type}!) {{ updateTag(urn: "{TAG}", input: $input) {{ urn }} }}'
    return f"mutation ($input: {input_type}!) {{ {name}(input: $input) }}"


@pytest.fixture
def stored(installed):
    """A table, tags, a term, a domain, a user and a group; what is called gone is soft-deleted."""
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR)
    proposals = [
        proposal(TABLE, "datasetProperties", {"name": "Orders"}),
        proposal(TAG, "tagProperties", {"name": "PII"}),
        proposal(GONE_TAG, "tagProperties", {"name": "Gone"}),
        proposal(GONE_TERM, "glossaryTermInfo", {"definition": "", "termSource": "INTERNAL"}),
        proposal(GONE_DOMAIN, "domainProperties", {"name": "Gone"}),
        *(proposal(urn, "status", {"removed": True}) for urn in (GONE_TAG, GONE_TERM, GONE_DOMAIN)),
    ]
    for change in proposals:
        assert calling(ROOT).write(change).status_code == 200


def remove(*urns: str) -> None:
    for urn in urns:
        assert calling(ROOT).write(proposal(urn, "status", {"removed": True})).status_code == 200


@pytest.mark.parametrize("name", OWNER_MUTATIONS)
def test_owners_that_are_unknown_or_removed_are_refused(root, stored, name):
    input_type, build_input = OWNER_MUTATIONS[name]
    mutation = mutation_of(name, input_type)
    for owner in (JO, CREW):
        assert root.ask(mutation, input=build_input(owner))[name]
    root.ask(
        "mutation ($input: BatchRemoveOwnersInput!) { batchRemoveOwners(input: $input) }",
        input={"ownerUrns": [JO, CREW], "resources": [*RESOURCES, {"resourceUrn": TAG}]},
    )
    remove(JO, CREW)
    for owner in (JO, CREW, NOBODY, MADE_UP.format("corpGroup")):
        code, _, message = root.refused(mutation, input=build_input(owner))
        assert code in (400, 404)
        assert owner in message


def test_an_owner_of_a_tag_who_was_removed_since_may_stay(root, stored):
    """A client that changes the description of a tag sends all of its owners."""
    input_type, build_input = OWNER_MUTATIONS["updateTag"]
    mutation = mutation_of("updateTag", input_type)
    assert root.ask(mutation, input=build_input(JO))
    remove(JO)
    assert root.ask(mutation, input={**build_input(JO), "description": "d"}) == {"updateTag": {"urn": TAG}}


@pytest.mark.parametrize("name", ENTITY_MUTATIONS)
def test_entities_that_are_soft_deleted_can_be_attached_as_by_datahub(root, stored, name):
    input_type, target, build_input = ENTITY_MUTATIONS[name]
    assert root.ask(mutation_of(name, input_type), input=build_input(target)) == {name: True}
