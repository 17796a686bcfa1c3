"""Which lists of privileges a refusal names, and in which order."""

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.engine.alternatives import (
    MAX_ALTERNATIVES,
    join_alternatives,
    limit_alternatives,
    sort_narrowest_first,
)
from policies.engine.evaluate import decide_requirement
from policies.engine.families import cdap, datahub, get_requirement
from policies.engine.model import Actor, MissingPrivilege
from policies.engine.requirements import Need, Quantifier, Requirement, any_of_requirement
from tests.worlds import World, document, matching_all, urn
from tests.worlds import criterion as on

JO = Actor(urn("jo"))
A, B = urn("dataset:a"), urn("dataset:b")
TAGS, EDIT, DELETE, ALL = "EDIT_ENTITY_TAGS", "EDIT_ENTITY", "DELETE_ENTITY", "MANAGE_POLICIES"


def names(lists):
    return [[(lack.privilege, lack.entity) for lack in one] for one in lists]


def refused(requirement: Requirement, **relatives: list[str]):
    world = World()
    world.entity(A)
    world.entity(B)
    resources = {name: [world.resource(found) for found in named] for name, named in relatives.items()}
    return decide_requirement(world.snapshot(), JO, requirement, resources)


@pytest.mark.parametrize(
    ("asked", "relatives", "expected"),
    [
        (any_of_requirement([[EDIT]]), {"self": [A]}, [[(EDIT, A)]]),
        (any_of_requirement([[EDIT], [TAGS]]), {"self": [A]}, [[(EDIT, A)], [(TAGS, A)]]),
        (any_of_requirement([[EDIT], [TAGS, DELETE]]), {"self": [A]}, [[(EDIT, A)], [(TAGS, A), (DELETE, A)]]),
        (any_of_requirement([]), {"self": [A]}, []),
        (Requirement(((Need((TAGS, EDIT)),),)), {"self": [A]}, [[(TAGS, A)], [(EDIT, A)]]),
        (Requirement(((Need((EDIT,), "domains"),),)), {"domains": [A, B], "self": [A]}, [[(EDIT, A)], [(EDIT, B)]]),
        (Requirement(((Need((EDIT, TAGS), "domains"),),)), {"domains": [], "self": [A]}, [[(EDIT, A)], [(TAGS, A)]]),
        (
            Requirement(((Need((TAGS, EDIT), "subjects", Quantifier.EACH),),)),
            {"subjects": [A, B], "self": [A]},
            [[(TAGS, A), (TAGS, B)], [(EDIT, A), (EDIT, B)]],
        ),
        (
            Requirement(((Need((TAGS, EDIT)), Need((DELETE,), "parent")),)),
            {"self": [A], "parent": [B]},
            [[(TAGS, A), (DELETE, B)], [(EDIT, A), (DELETE, B)]],
        ),
    ],
)
def test_a_refusal_names_every_alternative(asked, relatives, expected):
    assert names(refused(asked, **relatives).missing_any) == expected


@given(st.lists(st.lists(st.sampled_from("ABCDE"), max_size=4, unique=True), max_size=8))
def test_no_list_contains_another_and_none_that_suffices_is_lost(lists):
    ways = [tuple(MissingPrivilege(A, name) for name in one) for one in lists]
    limited = limit_alternatives(ways)
    assert not any(set(one) <= set(other) for one, other in permutations(limited, 2))
    assert all(any(set(found) <= set(way) for found in limited) for way in ways if way)
    assert set(limited) <= set(ways)


def test_a_refusal_names_a_bounded_number_of_alternatives():
    decision = refused(any_of_requirement([[f"P{number}"] for number in range(500)]), self=[A])
    assert len(decision.missing_any) == MAX_ALTERNATIVES


def test_what_is_held_is_not_missing():
    world = World()
    world.entity(A)
    policy = document(privileges=[DELETE], actors={"users": [JO.urn]}, resources=matching_all(on("URN", A)))
    world.policy("deletes", policy)
    asked = any_of_requirement([[EDIT], [TAGS, DELETE]])
    decision = decide_requirement(world.snapshot(), JO, asked, {"self": [world.resource(A)]})
    assert names(decision.missing_any) == [[(EDIT, A)], [(TAGS, A)]]


LISTS = [list(some) for size in range(4) for some in combinations([TAGS, EDIT, DELETE], size)]


@pytest.mark.parametrize("any_of", [[], *([one] for one in LISTS), *map(list, combinations(LISTS, 2))])
def test_every_list_that_is_named_is_enough(any_of):
    asked = any_of_requirement(any_of)
    for lacking in refused(asked, self=[A]).missing_any:
        world = World()
        world.entity(A)
        privileges = [lack.privilege for lack in lacking]
        world.policy("given", document(privileges=privileges, actors={"users": [JO.urn]}))
        assert decide_requirement(world.snapshot(), JO, asked, {"self": [world.resource(A)]}).is_allowed


@pytest.mark.parametrize("name", sorted(datahub.load_operations()))
def test_of_what_an_operation_needs_the_umbrella_comes_last(name):
    listed = sort_narrowest_first(
        (MissingPrivilege(A, privilege),) for privilege in sorted(get_requirement(name).privileges)
    )
    assert EDIT not in [lack.privilege for one in listed[:-1] for lack in one]


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([[EDIT], [TAGS]], [[TAGS], [EDIT]]),
        ([[ALL], [EDIT], [TAGS, DELETE], [TAGS]], [[TAGS], [TAGS, DELETE], [EDIT], [ALL]]),
        ([["dataset:manage"], ["dataset:read"]], [["dataset:read"], ["dataset:manage"]]),
        ([["B"], ["A"]], [["B"], ["A"]]),
        ([[cdap.ADMIN], [cdap.READ]], [[cdap.ADMIN], [cdap.READ]]),
    ],
)
def test_the_narrowest_list_comes_first(lists, expected):
    found = sort_narrowest_first([tuple(MissingPrivilege(A, name) for name in one) for one in lists])
    assert [[lack.privilege for lack in one] for one in found] == expected


def test_alternatives_of_several_refusals_stand_together_place_by_place():
    tags = ((MissingPrivilege(A, TAGS),), (MissingPrivilege(A, EDIT),))
    delete = ((MissingPrivilege(B, DELETE),),)
    joined = join_alternatives([tags, (), delete, tags])
    assert names(joined) == [[(TAGS, A), (DELETE, B)], [(EDIT, A), (DELETE, B)]]
    assert join_alternatives([]) == ()


PII, OPEN = urn("tag:PII"), urn("tag:open")


def refused_tagging(*tags: str, policies: tuple[dict, ...]):
    """Return the refusal of a change of tags of A, by an editor of everything or of tags."""
    world = World()
    world.entity(A)
    for number, policy in enumerate(policies):
        world.policy(str(number), policy)
    relatives = {"self": [world.resource(A)]}
    asked = any_of_requirement([[EDIT], [TAGS]])
    subresources = tuple(world.resource(tag) for tag in tags)
    decision = decide_requirement(world.snapshot(), world.actor(JO.urn), asked, relatives, subresources)
    assert not decision.is_allowed
    return names(decision.missing_any)


def tagging(*tags: str, **changes: object) -> dict:
    block = matching_all(constraints=[on("URN", *tags)])
    return document(privileges=[TAGS], actors={"users": [JO.urn]}, **({"resources": block} if tags else {})) | changes


@pytest.mark.parametrize(
    ("tags", "policies", "expected"),
    [
        # What is held is not named: a tag outside of a constraint is, and no other.
        ([PII, OPEN], (tagging(OPEN),), [[(EDIT, A)], [(TAGS, PII)]]),
        # Each tag alone would do: one policy has to cover both.
        ([PII, OPEN], (tagging(OPEN), tagging(PII)), [[(EDIT, A)], [(TAGS, PII), (TAGS, OPEN)]]),
        ([PII], (), [[(EDIT, A)], [(TAGS, A)]]),
        # A deny of one of two that stand for each other: what is denied is named.
        ([], (tagging(privileges=[EDIT]), tagging(effect="DENY")), [[(TAGS, A)]]),
        ([PII], (tagging(privileges=[EDIT]), tagging(PII, effect="DENY")), [[(TAGS, A)]]),
    ],
)
def test_a_refusal_names_nothing_that_is_held(tags, policies, expected):
    assert refused_tagging(*tags, policies=policies) == expected
