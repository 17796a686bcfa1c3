"""Covers brought together: what is dropped is reached anyway, and what differs in one value becomes one list."""

from catalog.access.coverage_simplify import UNCONDITIONAL, ActorRelation, CoveragePart, simplify_coverage
from policies.engine.model import Cover, Effect, Statement, StatementOrigin
from policies.engine.selectors import ActorMatch, Condition, Criterion, Selector

OWNED, STEWARDED = ActorRelation(is_owned=True), ActorRelation(is_owned=True, owner_types=frozenset({"steward"}))


def one(field: str, *values: str, by: Condition = Condition.EQUALS) -> Criterion:
    return Criterion(field, by, frozenset(values))


def cover(*criteria: Criterion, reach: ActorRelation = UNCONDITIONAL) -> Cover:
    statement = Statement(StatementOrigin("p", "p"), Effect.ALLOW, ActorMatch(), frozenset({"X"}), Selector(criteria))
    return Cover(statement, reach.is_unconditional, reach.is_owned, reach.owner_types, reach.is_self)


def part(*alternatives: tuple[Criterion, ...], types: tuple[str, ...] = ()) -> CoveragePart:
    return CoveragePart(frozenset(types), alternatives)


def test_a_cover_without_criteria_leaves_no_other() -> None:
    others = [
        cover(one("TAG", "a"), reach=reach) for reach in (UNCONDITIONAL, OWNED, STEWARDED, ActorRelation(is_self=True))
    ]
    assert simplify_coverage([*others, cover()]) == {UNCONDITIONAL: (part(()),)}


def test_a_wider_condition_on_the_actor_covers_a_narrower_one() -> None:
    assert simplify_coverage([cover(reach=STEWARDED), cover(reach=OWNED)]) == {OWNED: (part(()),)}
    tagged, filed = one("TAG", "a"), one("DOMAIN", "d")
    kept = simplify_coverage(
        [cover(tagged, filed, reach=STEWARDED), cover(tagged, reach=OWNED), cover(filed, reach=STEWARDED)]
    )
    assert kept == {OWNED: (part((tagged,)),), STEWARDED: (part((filed,)),)}


def test_being_oneself_or_an_owner_of_another_type_is_no_wider() -> None:
    reaches = [
        ActorRelation(is_self=True),
        STEWARDED,
        ActorRelation(is_owned=True, owner_types=frozenset({"technical"})),
    ]
    assert simplify_coverage([cover(reach=reach) for reach in reaches]) == {reach: (part(()),) for reach in reaches}


def test_values_of_one_criterion_are_united_and_types_with_the_same() -> None:
    found = simplify_coverage(
        [
            cover(one("TYPE", "dataset"), one("TAG", "a")),
            cover(one("TYPE", "dataset", "chart"), one("TAG", "b")),
            cover(one("TYPE", "chart"), one("TAG", "a")),
            cover(one("TYPE", "chart"), one("URN", "x", by=Condition.STARTS_WITH)),
            cover(one("TYPE", "chart"), one("URN", "y", by=Condition.STARTS_WITH)),
        ]
    )
    assert found == {
        UNCONDITIONAL: (
            part((one("TAG", "a", "b"),), types=("dataset", "chart")),
            part((one("URN", "x", "y", by=Condition.STARTS_WITH),), types=("chart",)),
        )
    }


def test_what_must_not_be_there_is_never_united() -> None:
    criteria = [one("TAG", name, by=Condition.NOT_EQUALS) for name in "ab"]
    assert simplify_coverage(cover(criterion) for criterion in criteria) == {
        UNCONDITIONAL: (part(*((each,) for each in criteria)),)
    }


def test_two_lists_of_types_are_both_asked_for() -> None:
    first, second = one("TYPE", "dataset"), one("TYPE", "dataset", "chart")
    (condensed_part,) = simplify_coverage([cover(first, second)])[UNCONDITIONAL]
    assert condensed_part.types == frozenset()
    assert [set(criteria) for criteria in condensed_part.alternatives] == [{first, second}]


def test_a_list_of_no_types_covers_nothing() -> None:
    assert simplify_coverage([cover(one("TYPE"), one("TAG", "a")), cover(one("TYPE", ""))]) == {}
