"""Which lists of privileges a refusal names, and in which order."""

from itertools import combinations

import pytest

from policies.engine.alternatives import MAX_ALTERNATIVES, join_alternatives, sort_narrowest_first
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
