"""Proofs about one privilege and people there are: who may use it after a change and could not before.

A state of the world is a snapshot and people as they are in it. The facts and owners of entities are free. A
proof is made for one person, and then holds for all whom the same statements concern in the same manner: so a search
takes one proof for each manner, and not one for each person. Nobody's own account is asked about. Raises
ProofUnavailable without a solver, TimeOver when the time is over, and ProofContradiction if solver and `decide` do not
agree.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from policies.engine.evaluate import decide, matches
from policies.engine.model import Actor, Effect, Question, Statement
from policies.engine.proofs.entity_terms import EntityTerms, list_types
from policies.engine.proofs.formula import Formula
from policies.engine.proofs.population import Population, build_set, find_first
from policies.engine.proofs.verdicts import ProofContradiction
from policies.engine.proofs.ways import Way, list_ways
from policies.engine.selectors import EVERYTHING, OWNER, URN, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot

#: Most URNs by which a person owns entities in a proof; of more groups, those that criteria name and one of each kind.
_MAX_HOLDERS = 32


class Side(NamedTuple):
    """A state of the world: policies, people by number, and those of them whom the rule is about."""

    snapshot: Snapshot
    people: Population
    concerned: int


class Use(NamedTuple):
    """A use that was found: the question, the statement that gives it, and who uses something in the same manner."""

    question: Question
    statement: Statement
    way: Way
    people: int


@dataclass(slots=True)
class _Refutation:
    """The statements that a proof of *no* rests on: denies, and the allows of the state before, each with its way."""

    denies: dict[Statement, None] = field(default_factory=dict)
    earlier_allows: dict[tuple[Statement, Way], None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UseSearch:
    """The search for uses in the state `after` that there are not in the state `before` (None: any use).

    People have the same numbers in both.
    """

    after: Side
    before: Side | None
    is_over: Callable[[], bool]
    unchanged: int = field(init=False)
    _denies: dict[tuple[int, frozenset[str]], tuple[Statement, ...]] = field(default_factory=dict)
    _owner_classes: dict[tuple[Criterion, ...], Mapping[object, int]] = field(default_factory=dict)
    _named_people: dict[tuple[Criterion, ...], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the people that are the same in both states."""
        earlier = self.after if self.before is None else self.before
        pairs = enumerate(zip(self.after.people.actors, earlier.people.actors, strict=True))
        unchanged = build_set(
            (number for number, (now, was) in pairs if now is was or now == was), len(earlier.people.actors)
        )
        object.__setattr__(self, "unchanged", unchanged)

    def find_uses(self, allow: Statement, way: Way, resources: Selector, people: int) -> Iterator[Use]:
        """Yield how some of these people use, by one allow, a way to what the resources cover."""
        people &= self.after.people.find_reached(allow.actors) & self.after.concerned
        selector = way.narrow(resources)
        while people:
            number = find_first(people)
            refutation = _Refutation()
            question = self._find_question(number, allow, way, selector, refutation)
            same = people & self._find_same(number, allow, way, selector, refutation, is_use=question is not None)
            if question is not None:
                yield Use(question, allow, way, same)
            people &= ~same

    # -- one person -------------------------------------------------------------------------------------------------

    def _find_question(
        self, number: int, allow: Statement, way: Way, selector: Selector, refutation: _Refutation
    ) -> Question | None:
        """Return the person's uses; None if there are none, for the reasons that are then in the refutation."""
        searches = (self._find_on_nothing, self._find_on_entity)
        for search in searches if way.is_platform else reversed(searches):
            question = search(number, allow, way, selector, refutation)
            if question is not None:
                return question
        return None

    def _find_on_nothing(
        self, number: int, allow: Statement, way: Way, selector: Selector, refutation: _Refutation
    ) -> Question | None:
        """Return the question without an entity, if it is one of the rule and allowed."""
        question = Question(self.after.people.actors[number], way.privilege)
        if selector.needs_resource or not matches(allow, question):
            return None
        return None if any(self._list_obstacles(number, question, way, refutation)) else question

    def _find_on_entity(
        self, number: int, allow: Statement, way: Way, selector: Selector, refutation: _Refutation
    ) -> Question | None:
        actor, earlier_actor = self.after.people.actors[number], self._find_earlier(number)
        holders, earlier_holders = self._list_holders(number)
        known_obstacles: set[object] = set()
        with Formula(self.is_over) as formula:
            terms = EntityTerms(formula, list_types((allow.resources, selector)))
            terms.exclude(actor.urn)
            formula.require(terms.covers(Selector(selector.criteria, needs_resource=True)))
            formula.require(terms.applies(allow, actor, holders))
            while terms.solve():
                question = Question(actor, way.privilege, terms.find_resource(self._fields))
                denies, earlier_allows = self._list_obstacles(number, question, way, refutation)
                if not denies and not earlier_allows:
                    if not way.is_open(self.after.snapshot, question):
                        raise ProofContradiction(question, "The solver says that something allows, and nothing does:")
                    return question
                obstacles = {*denies, *earlier_allows}
                if obstacles <= known_obstacles:
                    raise ProofContradiction(question, "A statement matches that the solver excluded:")
                known_obstacles |= obstacles
                for deny in denies:
                    formula.require(-terms.applies(deny, actor, holders))
                for earlier_allow, earlier_way in earlier_allows:
                    earlier_denies = self._list_earlier_denies(earlier_way, way, number)
                    formula.require(
                        -terms.applies(earlier_allow, earlier_actor, earlier_holders),
                        -terms.covers(earlier_way.narrow(EVERYTHING)),
                        *(terms.applies(deny, earlier_actor, earlier_holders) for deny in earlier_denies),
                    )
        return None

    def _list_obstacles(
        self, number: int, question: Question, way: Way, refutation: _Refutation
    ) -> tuple[list[Statement], list[tuple[Statement, Way]]]:
        """Return the denies that refuse a question, else the allows that gave as much before, and note them."""
        snapshot = self.after.snapshot
        denies = [
            statement
            for name in sorted(way.denied)
            for statement in snapshot.select(snapshot.filter_denies(snapshot.match(question._replace(privilege=name))))
        ]
        earlier_allows = [] if denies else list(self._list_earlier_allows(number, question, way))
        refutation.denies |= dict.fromkeys(denies)
        refutation.earlier_allows |= dict.fromkeys(earlier_allows)
        return denies, earlier_allows

    def _list_earlier_allows(self, number: int, question: Question, way: Way) -> Iterator[tuple[Statement, Way]]:
        if self.before is None or not self.before.concerned >> number & 1:
            return
        resource, actor = question.resource, self.before.people.actors[number]
        for earlier_way in list_ways(way.asked_privilege):
            if earlier_way.types is not None and (resource is None or resource.type not in earlier_way.types):
                continue
            earlier_question = Question(actor, earlier_way.privilege, resource)
            if earlier_way.is_open(self.before.snapshot, earlier_question):
                # One that most people have makes a proof that is about most people.
                allows = decide(self.before.snapshot, earlier_question).statements
                yield max(allows, key=self._count_reached), earlier_way
                return

    def _count_reached(self, statement: Statement) -> int:
        return 0 if self.before is None else self.before.people.find_reached(statement.actors).bit_count()

    # -- everybody in the same manner -------------------------------------------------------------------------------

    def _find_same(
        self, number: int, allow: Statement, way: Way, selector: Selector, refutation: _Refutation, *, is_use: bool
    ) -> int:
        """Return the people that share a proof with this person: its statements concern them alike."""
        if is_use and self.before is not None:
            return 1 << number
        earlier_allows = [statement for statement, _ in refutation.earlier_allows]
        earlier_ways = {earlier_way for _, earlier_way in refutation.earlier_allows}
        earlier_denies = [
            deny for earlier_way in earlier_ways for deny in self._list_earlier_denies(earlier_way, way, number)
        ]
        # A deny that did not matter to this person may matter to others.
        denies = self._list_denies(self.after.snapshot, way) if is_use else refutation.denies
        used = [allow, *denies, *earlier_allows, *earlier_denies]
        criteria = [
            *selector.criteria,
            *(criterion for statement in used for criterion in statement.resources.criteria),
        ]
        if any(statement.actor_conditions for statement in used) or _is_named(self._get_urn(number), criteria):
            return 1 << number
        same = _select_like(self.after.people, [allow, *denies], number)
        if self.before is not None and earlier_allows:
            same &= self.before.concerned & _select_like(self.before.people, [*earlier_allows, *earlier_denies], number)
            same &= self.unchanged if self.unchanged >> number & 1 else ~self.unchanged
        if any(statement.actors.is_relational for statement in used):
            same &= self._find_owner_class(number, criteria)
        if is_use:
            same &= ~self._find_named_people(criteria)
        return same | 1 << number

    def _find_owner_class(self, number: int, criteria: Sequence[Criterion]) -> int:
        """Return the people who own entities as this person does; all classes are found at once, for many questions."""
        owner_criteria = _filter_criteria(criteria, OWNER)
        if owner_criteria not in self._owner_classes:
            numbers_by_key: dict[object, list[int]] = defaultdict(list)
            for other in range(len(self.after.people.actors)):
                numbers_by_key[self._build_owner_key(other, owner_criteria)].append(other)
            self._owner_classes[owner_criteria] = {
                key: sum(1 << other for other in numbers) for key, numbers in numbers_by_key.items()
            }
        return self._owner_classes[owner_criteria][self._build_owner_key(number, owner_criteria)]

    def _find_named_people(self, criteria: Sequence[Criterion]) -> int:
        """Return the people whose own URN a criterion tells from others."""
        urn_criteria = _filter_criteria(criteria, URN)
        if urn_criteria not in self._named_people:
            actors = self.after.people.actors if urn_criteria else ()
            self._named_people[urn_criteria] = sum(
                1 << number for number, actor in enumerate(actors) if _is_named(actor.urn, urn_criteria)
            )
        return self._named_people[urn_criteria]

    def _build_owner_key(self, number: int, criteria: Sequence[Criterion]) -> object:
        """Return the features of the URNs by which a person owns entities: those that are named, and their state."""
        sides = self._get_holders(number)
        own_urn, (now, was) = self._get_urn(number), sides
        named_holders = tuple(frozenset(urn for urn in holders if _is_named(urn, criteria, OWNER)) for holders in sides)
        kinds = (now & was - named_holders[0], now - was - named_holders[0], was - now - named_holders[1])
        return _is_named(own_urn, criteria, OWNER) and own_urn, named_holders, tuple(map(bool, kinds))

    # -- parts ------------------------------------------------------------------------------------------------------

    @property
    def _fields(self) -> frozenset[str]:
        fields = self.after.snapshot.all_tested_fields | {OWNER}
        return fields if self.before is None else fields | self.before.snapshot.all_tested_fields

    def _get_urn(self, number: int) -> str:
        return self.after.people.actors[number].urn

    def _find_earlier(self, number: int) -> Actor:
        return (self.before or self.after).people.actors[number]

    def _get_holders(self, number: int) -> tuple[frozenset[str], frozenset[str]]:
        """Return the URNs by which a person owns entities, and by which it did before, without its own."""
        return self.after.people.actors[number].groups, self._find_earlier(number).groups

    def _list_holders(self, number: int) -> tuple[list[str], list[str]]:
        """Return the URNs by which a person owns entities, and by which it did before.

        Groups that no criterion names are alike: of many, one stands for all that the person is in, or was, or both.
        """
        urn, (now, was) = self._get_urn(number), self._get_holders(number)
        kept_urns = now | was
        if len(kept_urns) > _MAX_HOLDERS:
            named_groups = frozenset(
                group for group in kept_urns if _is_named(group, self._list_owner_criteria(), OWNER)
            )
            kinds = (now & was - named_groups, now - was - named_groups, was - now - named_groups)
            kept_urns = named_groups.union(*(sorted(kind)[:1] for kind in kinds))
        return sorted({urn, *(now & kept_urns)}), sorted({urn, *(was & kept_urns)})

    def _list_owner_criteria(self) -> list[Criterion]:
        snapshots = [self.after.snapshot, *([] if self.before is None else [self.before.snapshot])]
        return [
            criterion
            for snapshot in snapshots
            for statement in snapshot.statements
            for criterion in statement.resources.criteria
            if criterion.field == OWNER
        ]

    def _list_earlier_denies(self, earlier_way: Way, way: Way, number: int) -> list[Statement]:
        """Return the denies of the state before that could have refused somebody what an allow gave.

        Without those that still refuse the way to somebody who is the same as before: where they apply, nothing is new.
        """
        if self.before is None:
            return []
        lasting: Collection[Statement] = ()
        if self.unchanged >> number & 1:
            lasting = self._list_denies(self.after.snapshot, way)
        return [deny for deny in self._list_denies(self.before.snapshot, earlier_way) if deny not in lasting]

    def _list_denies(self, snapshot: Snapshot, way: Way) -> tuple[Statement, ...]:
        key = (id(snapshot), way.denied)
        if key not in self._denies:
            self._denies[key] = list_denies(snapshot, way.denied)
        return self._denies[key]


def list_denies(snapshot: Snapshot, privileges: Iterable[str]) -> tuple[Statement, ...]:
    """Return the denies of any of these privileges, for questions without sub-resources, each once."""
    names = sorted(privileges)
    if not snapshot.has_denies(names):
        return ()
    statements = dict.fromkeys(statement for name in names for statement in snapshot.list_statements(name))
    return tuple(statement for statement in statements if statement.effect is Effect.DENY)


def _select_like(people: Population, statements: Iterable[Statement], number: int) -> int:
    """Return how each statement concerns this person: by name, only as an owner, or not at all."""
    same = -1
    for statement in statements:
        named_people, reached = people.find_named(statement.actors), people.find_reached(statement.actors)
        if named_people >> number & 1:
            same &= named_people
        else:
            same &= reached & ~named_people if reached >> number & 1 else ~reached
    return same


def _filter_criteria(criteria: Iterable[Criterion], field_name: str) -> tuple[Criterion, ...]:
    """Return the criteria on a field, each once."""
    return tuple(dict.fromkeys(criterion for criterion in criteria if criterion.field == field_name))


def _is_named(urn: str, criteria: Iterable[Criterion], field_name: str = URN) -> bool:
    """Whether a criterion on the field tells this URN from others."""
    return any(
        urn.startswith(tuple(criterion.values))
        if criterion.condition is Condition.STARTS_WITH
        else urn in criterion.values
        for criterion in criteria
        if criterion.field == field_name
    )
