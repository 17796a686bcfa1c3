"""Denies and exclusions: what they are called in answers, and what a snapshot says of them."""

import pytest

from policies.engine import near_misses
from policies.engine.evaluate import decide, decide_requirement
from policies.engine.families import datahub, vocabulary
from policies.engine.model import DecisionCode, Question, StatementOrigin
from policies.engine.named_actors import find_named_actors
from policies.engine.requirements import Need, Quantifier, Requirement, any_of_requirement
from policies.engine.snapshot import Snapshot
from tests.worlds import World, criterion, denying, document, matching_all, name_actors, urn

TAGS, EDIT = "EDIT_ENTITY_TAGS", "EDIT_ENTITY"
NOBODY: dict = {"users": [], "groups": [], "roles": []}


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["sales"], roles=["Editor"])
    made.entity("dataset:orders", owners=["jo/technical_owner"], domains=["finance"])
    made.entity("dataset:bills")
    return made


def tags(**changes) -> dict:
    return document(**({"privileges": [TAGS], "actors": {"allUsers": True}} | changes))


def test_edit_entity_is_the_umbrella_of_every_narrower_edit():
    registry = vocabulary.load_datahub()
    narrower = {info.name for info in registry.metadata_privileges() if info.name.startswith("EDIT_")} - {EDIT}
    assert {info.name: info.umbrella for info in registry.privileges.values() if info.umbrella} == dict.fromkeys(
        narrower, EDIT
    )
    assert registry.is_umbrella_pair(EDIT, TAGS)
    assert registry.is_umbrella_pair(TAGS, EDIT)
    assert not registry.is_umbrella_pair(TAGS, "EDIT_ENTITY_DOCS")
    assert not registry.is_umbrella_pair("unknown", EDIT)


@pytest.mark.parametrize(
    ("requirement", "is_allowed"),
    [
        (any_of_requirement([[EDIT], [TAGS]]), False),
        (Requirement(((Need((EDIT, TAGS)),),)), False),
        (any_of_requirement([[EDIT]]), True),
        (any_of_requirement([[EDIT], ["EDIT_ENTITY_DOCS"]]), True),
        # Alternatives on different entities are judged one by one.
        (Requirement(((Need((EDIT,)),), (Need((TAGS,), "assets", Quantifier.EACH),))), True),
        (Requirement(((Need((TAGS,)),), (Need((EDIT,), "assets", Quantifier.EACH),))), True),
    ],
)
def test_a_deny_of_what_an_umbrella_stands_in_for_refuses_both_on_the_same_entity(world, requirement, is_allowed):
    world.policy("all", document(privileges=[EDIT, TAGS], actors={"allUsers": True}))
    world.policy("no", denying(tags(resources=matching_all(criterion("DOMAIN", urn("domain:finance"))))))
    relatives = {"self": [world.resource(urn("dataset:orders"))], "assets": [world.resource(urn("dataset:bills"))]}
    decision = decide_requirement(world.snapshot(), world.actor(urn("jo")), requirement, relatives)
    assert decision.is_allowed is is_allowed
    if not is_allowed:
        assert decision.code is DecisionCode.EXPLICIT_DENY
        assert [statement.origin.name for statement in decision.statements] == ["no"]


def test_a_statement_is_replaced_with_its_exclusions(world):
    world.policy("all", tags(actors={"allUsers": True, "excludedGroups": [urn("group:sales")]}))
    question = Question(world.actor(urn("jo")), TAGS, world.resource(urn("dataset:orders")))
    snapshot = world.snapshot()
    assert not decide(snapshot, question).is_allowed
    ((policy, statements),) = World(policies=[("all", tags())]).statements()
    opened_snapshot = snapshot.replace(2, {policy: statements})
    assert decide(opened_snapshot, question).is_allowed
    assert not decide(opened_snapshot.replace(3, dict(world.statements())), question).is_allowed


@pytest.mark.parametrize(
    ("item", "is_denied"),
    [
        (criterion("URN"), False),
        (criterion("TAG", "urn:li:tag:x"), False),
        (criterion("COLOUR", "red"), True),
        (criterion("URN", "urn:li:tag:x", condition="GREATER_THAN"), True),
    ],
)
def test_a_criterion_that_cannot_be_read_holds_for_a_deny_and_an_empty_one_does_not(world, item, is_denied):
    world.policy("all", tags())
    world.policy("no", denying(tags(resources=matching_all(item))))
    question = Question(world.actor(urn("jo")), TAGS, world.resource(urn("dataset:orders")))
    assert decide(world.snapshot(), question).is_allowed is not is_denied


@pytest.mark.parametrize("value", [None, "x", 1, [], {}, [1, None], [["x"]], {"a": 1}, True])
def test_what_earlier_releases_stored_under_our_names_breaks_nothing(value):
    clause = dict.fromkeys(("excludedUsers", "excludedGroups", "excludedRoles", "excludedResourceOwnersTypes"), value)
    raw = tags(effect=value, validFrom=value, validUntil=value, actors={"allUsers": True} | clause)
    datahub.column_values(raw)
    for statement in datahub.compile(raw, StatementOrigin("p", "p")):
        assert value in (None, [], {})
        assert not statement.actors.excluded_tokens


def test_owners_are_looked_up_for_an_exclusion_of_owners():
    excluding = {"allUsers": True, "excludedResourceOwnersTypes": [urn("ownership:technical_owner")]}
    snapshot = Snapshot.build(1, World(policies=[("p", tags(actors=excluding))]).statements())
    assert snapshot.tested_fields([TAGS]) == {"OWNER"}


@pytest.mark.parametrize(
    ("actors", "sentence"),
    [
        ({"excludedUsers": [urn("jo")]}, "Jo is excepted from it: Jo is named."),
        ({"excludedGroups": [urn("group:sales")]}, "Jo is excepted from it: Jo is in group Sales."),
        ({"excludedRoles": [urn("role:Editor")]}, "Jo is excepted from it: Jo has the role Editor."),
        (
            {"excludedResourceOwnersTypes": [urn("ownership:technical_owner")]},
            "Jo is excepted from it: Jo owns the dataset as Technical Owner.",
        ),
    ],
)
def test_a_near_miss_says_by_what_somebody_is_excepted(world, actors, sentence):
    names = {
        urn("jo"): "Jo",
        urn("group:sales"): "Sales",
        urn("role:Editor"): "Editor",
        urn("ownership:technical_owner"): "Technical Owner",
    }
    world.policy("p", tags(actors={"allUsers": True} | actors))
    question = Question(world.actor(urn("jo")), TAGS, world.resource(urn("dataset:orders")))
    (miss,) = near_misses.list_near_misses(world.snapshot(), question)
    match = miss.to_near_match(lambda name: names.get(name, name))
    assert [(item.part, item.sentence) for item in match.failed_conditions] == [("actor", sentence)]


@pytest.mark.parametrize(
    ("policies", "listed", "excepted"),
    [
        ([tags(actors={"allUsers": True, "excludedUsers": [urn("al")]})], NOBODY, {"users": [urn("al")]}),
        (
            [tags(actors={"allUsers": True, "excludedGroups": [urn("group:g")]}), tags(actors={"allGroups": True})],
            NOBODY,
            {},
        ),
        (
            [tags(actors={"allUsers": True}), denying(tags(actors={"roles": [urn("role:r")]}))],
            NOBODY,
            {"roles": [urn("role:r")]},
        ),
        (
            [tags(actors={"users": [urn("al"), urn("bo")]}), denying(tags(actors={"users": [urn("al"), urn("cy")]}))],
            {"users": [urn("bo")]},
            {"users": [urn("al")]},
        ),
        (
            [
                tags(actors={"allUsers": True}),
                denying(tags(actors={"allUsers": True, "excludedGroups": [urn("group:g")]})),
            ],
            {"groups": [urn("group:g")]},
            {},
        ),
        (
            [
                tags(actors={"users": [urn("jo"), urn("al")]}),
                denying(tags(actors={"resourceOwners": True})),
            ],
            {"users": [urn("al")]},
            {"users": [urn("jo")]},
        ),
        # Al may be in the listed group; or be listed, and have the excluded role or be in the denied group.
        (
            [tags(actors={"groups": [urn("group:g")], "excludedUsers": [urn("al")]})],
            {"groups": [urn("group:g")]},
            {"users": [urn("al")]},
        ),
        (
            [
                tags(actors={"users": [urn("al")], "excludedRoles": [urn("role:r")]}),
                denying(tags(actors={"groups": [urn("group:h")], "excludedUsers": [urn("cy")]})),
            ],
            {"users": [urn("al")]},
            {"groups": [urn("group:h")], "roles": [urn("role:r")]},
        ),
        # What another policy gives anyway takes nobody out, nor does one user's exclusion another user.
        (
            [
                tags(actors={"users": [urn("al")], "excludedRoles": [urn("role:r")], "excludedUsers": [urn("bo")]}),
                tags(actors={"users": [urn("al")]}),
            ],
            {"users": [urn("al")]},
            {},
        ),
    ],
)
def test_who_says_whom_a_deny_or_an_exclusion_takes_out(world, policies, listed, excepted):
    for number, raw in enumerate(policies):
        world.policy(f"p{number}", raw)
    found = name_actors(world.snapshot(), TAGS, world.resource(urn("dataset:orders")))
    assert {key: found[key] for key in NOBODY} == NOBODY | listed
    assert found["except"] == NOBODY | excepted


@pytest.mark.parametrize(
    ("policies", "is_conditional"),
    [
        ([tags(actors={"allUsers": True}), denying(tags(actors={"allGroups": True}))], True),
        ([tags(actors={"users": [urn("al")]}), denying(tags(actors={"allGroups": True}))], True),
        ([tags(actors={"allUsers": True}), denying(tags(actors={"users": [urn("al")]}))], False),
        (
            [
                tags(actors={"users": [urn("al")]}),
                denying(tags(actors={"allGroups": True, "excludedUsers": [urn("al")]})),
            ],
            False,
        ),
        ([tags(actors={"groups": [urn("group:g")]}), denying(tags(actors={"allGroups": True}))], False),
        # Al is allowed as a holder of the role, and spared by the deny by his own name.
        (
            [
                tags(actors={"roles": [urn("role:r")]}),
                denying(tags(actors={"allUsers": True, "excludedUsers": [urn("al")]})),
            ],
            True,
        ),
        (
            [
                tags(actors={"users": [urn("al")]}),
                denying(tags(actors={"allUsers": True, "excludedUsers": [urn("bo")]})),
            ],
            False,
        ),
    ],
)
def test_who_says_where_it_depends_on_more_than_names(world, policies, is_conditional):
    for number, raw in enumerate(policies):
        world.policy(f"p{number}", raw)
    snapshot, resource = world.snapshot(), world.resource(urn("dataset:orders"))
    named_actors = find_named_actors(snapshot.list_covering_statements(TAGS, resource), resource)
    assert named_actors.is_conditional == is_conditional
