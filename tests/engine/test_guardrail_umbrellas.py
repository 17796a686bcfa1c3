"""A rule about a privilege covers what interfaces accept in its place, and what implies it."""

import pytest

from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.guardrails.rules import read_rule
from policies.engine.guardrails.sentences import describe_rule
from policies.engine.proofs.ways import list_accepted, list_ways
from policies.engine.snapshot import Snapshot
from tests.engine.test_guardrails import JENNY, PII, breaches, policy

UMBRELLAS = sorted(
    (info.name, info.umbrella) for info in vocabulary.load_datahub().privileges.values() if info.umbrella
)
IMPLIED = sorted(
    (name, implying)
    for name in vocabulary.load_datahub().names
    for implying in vocabulary.load_datahub().implying_privileges(name)
)
TAGS = "EDIT_ENTITY_TAGS"


def never(privilege, **more):
    return {"never": {"actors": {"users": [JENNY]}, "privileges": [privilege], **more}}


def of_type(*types):
    return {"filter": {"criteria": [{"field": "TYPE", "values": list(types)}]}}


@pytest.mark.parametrize(("asked", "held"), UMBRELLAS)
def test_an_umbrella_breaks_a_rule_about_each_privilege_below_it(asked, held):
    (found,) = breaches(never(asked), policy("p", {"users": [JENNY]}, [held]))
    assert (found.privilege, found.asked_privilege, found.question.privilege, found.is_certain) == (
        held,
        asked,
        held,
        True,
    )
    denies = policy("d", {"users": [JENNY]}, [asked], effect="DENY")
    assert breaches(never(asked), policy("p", {"users": [JENNY]}, [held]), denies) == ()
    # What is below an umbrella breaks no rule about the umbrella.
    assert breaches(never(held), policy("p", {"users": [JENNY]}, [asked])) == ()


@pytest.mark.parametrize(("asked", "held"), IMPLIED)
def test_what_implies_a_privilege_breaks_a_rule_about_it(asked, held):
    found, *_ = breaches(never(asked), policy("p", {"users": [JENNY]}, [held]))
    assert (found.privilege, found.question.privilege, found.asked_privilege) == (held, held, asked)
    assert breaches(never(held), policy("p", {"users": [JENNY]}, [asked])) == ()
    assert vocabulary.load_datahub().privileges[held].display in describe_rule(never(asked), {})


@pytest.mark.parametrize(
    ("asked", "held", "types"),
    [
        ("DELETE_ENTITY", "MANAGE_TAGS", ("tag",)),
        ("EDIT_ENTITY", "MANAGE_DOMAINS", ("domain",)),
        ("EDIT_GROUP_MEMBERS", "MANAGE_USERS_AND_GROUPS", ("corpGroup",)),
        ("CREATE_USERS", "MANAGE_USERS_AND_GROUPS", ()),
        ("VIEW_ENTITY_PAGE", "DELETE_ENTITY", ()),
    ],
)
def test_platform_privileges_accepted_in_its_place_count_where_they_are(asked, held, types):
    is_platform = vocabulary.load_datahub().privileges[held].scope == vocabulary.PLATFORM
    giving = policy("p", {"users": [JENNY]}, [held], type="PLATFORM" if is_platform else "METADATA")
    (found, *_) = breaches(never(asked), giving)
    assert (found.question.privilege, found.is_certain) == (held, True)
    if types:
        assert found.question.resource.type in types
        assert breaches(never(asked, resources=of_type("dataset")), giving) == ()


def test_the_umbrella_counts_only_where_the_privilege_can_be_used():
    rule = never("EDIT_DATASET_COL_TAGS")
    assert breaches(rule, policy("p", {"users": [JENNY]}, ["EDIT_ENTITY"], of_type("chart"))) == ()
    (found,) = breaches(rule, policy("p", {"users": [JENNY]}, ["EDIT_ENTITY"], of_type("chart", "dataset")))
    assert found.question.resource.type == "dataset"


def test_a_deny_of_a_part_leaves_the_rest():
    rule = never(TAGS, resources=PII)
    giving = policy("p", {"users": [JENNY]}, ["EDIT_ENTITY"])
    (found,) = breaches(rule, giving, policy("d", {"users": [JENNY]}, [TAGS], of_type("dataset"), effect="DENY"))
    assert found.question.resource.type != "dataset"
    assert breaches(rule, giving, policy("d", {"users": [JENNY]}, ["EDIT_ENTITY"], effect="DENY")) == ()


def test_not_both_and_no_policy_count_umbrellas():
    both = {"not_both": {"first": {"privileges": [TAGS]}, "second": {"privileges": ["EDIT_ENTITY_OWNERS"]}}}
    (found,) = breaches(both, policy("p", {"users": [JENNY]}, ["EDIT_ENTITY"]))
    assert (found.question.privilege, found.other.privilege) == ("EDIT_ENTITY", "EDIT_ENTITY")
    no_policy = {"no_policy": {"actors": {"users": [JENNY]}, "privileges": [TAGS]}}
    (single,) = breaches(no_policy, policy("p", {"users": [JENNY]}, ["EDIT_ENTITY"]))
    assert single.privilege == "EDIT_ENTITY"


def test_the_sentence_says_what_else_counts():
    assert describe_rule(never(TAGS), {}) == (
        f"None of {JENNY} may ever Edit Tags. Edit Entity counts, too: it includes this."
    )
    assert describe_rule(never("MANAGE_SECRETS"), {}) == f"None of {JENNY} may ever Manage Secrets."
    always = {"always": {"actors": {"users": [JENNY]}, "privileges": [TAGS]}}
    assert describe_rule(always, {}) == f"{JENNY} must always be able to Edit Tags."
    assert read_rule(always).counted_privileges == {TAGS}


def test_every_acceptance_is_of_a_privilege_and_a_type_that_there_are():
    registry = vocabulary.load_datahub()
    for name in registry.names:
        for way in list_ways(name):
            assert registry.get(way.privilege) is not None
            assert way.types is None or way.types <= registry.resource_types.keys() | {"corpuser", "ownershipType"}
        assert name not in list_accepted(name)


def test_an_example_is_what_decide_says():
    giving = policy("p", {"users": [JENNY]}, ["EDIT_ENTITY"], PII)
    (found,) = breaches(never(TAGS, resources=PII), giving)
    assert found.question.resource.facets["TAG"] == {"urn:li:tag:PII"}
    assert decide(Snapshot.build(1, [giving]), found.question).is_allowed
