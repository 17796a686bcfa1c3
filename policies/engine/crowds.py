"""Who may use one privilege on each of many entities, for all actors at once: `bulk` seen from the entities.

Actors are numbered from 0. A crowd is a set of actors, a compressed bitmap. Statements are gathered into units: those
that say the same of entities of one type speak to one crowd together. An entity is reached by the units that cover it,
so entities that the same units cover share their crowd but for owners. Units without a positive criterion cover nearly
everything of their type; of them an entity keeps those that do not cover it.

No product of actors and entities is formed. What only a restricted allow reaches is decided one by one, each kind of
actor on each kind of entity once (rules/datazone.md DZ-55 to DZ-57, DZ-67).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyroaring import BitMap, FrozenBitMap

from policies.engine.evaluate import decide
from policies.engine.matching import (
    ONESELF,
    OWNER_OF_ANY_TYPE,
    TYPE,
    Condition,
    Criterion,
    Selector,
    owner_token,
)
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement
from policies.engine.postings import NONE, Postings, union
from policies.engine.snapshot import Snapshot


class People:
    """Actors by number, and the crowd behind each token; inactive ones are in no crowd, the system actor in all."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        self.actors = actors
        self.numbers = {actor.urn: number for number, actor in enumerate(actors)}
        self.always = FrozenBitMap(number for number, actor in enumerate(actors) if actor.urn == SYSTEM_ACTOR)
        active = [(number, actor) for number, actor in enumerate(actors) if actor.is_active]
        self._behind = _inverted((number, actor.tokens) for number, actor in active)
        self._holding = _inverted((number, actor.holders) for number, actor in active)

    def behind(self, tokens: Iterable[str]) -> FrozenBitMap:
        """Return the actors that have one of the tokens."""
        return union(self._behind[token] for token in tokens if token in self._behind)

    def holding(self, holders: Iterable[str]) -> FrozenBitMap:
        """Return the actors that own what one of these owns: themselves, or through a group."""
        return union(self._holding[holder] for holder in holders if holder in self._holding)

    def oneself(self, urn: str) -> FrozenBitMap:
        """Return the actor of this URN."""
        number = self.numbers.get(urn)
        return NONE if number is None or not self.actors[number].is_active else FrozenBitMap((number,))


@dataclass(frozen=True, slots=True)
class Unit:
    """Statements that cover the same entities of a type: whom the plain allows, the restricted and the denies name."""

    type: str
    criteria: tuple[Criterion, ...]
    plain: frozenset[str]
    limited: frozenset[str]
    denied: frozenset[str]

    @property
    def is_wide(self) -> bool:
        """Whether it covers its whole type but for what its criteria leave out."""
        return all(criterion.condition is Condition.NOT_EQUALS for criterion in self.criteria)

    @property
    def towards(self) -> frozenset[str]:
        """The tokens that an actor has only towards an entity."""
        tokens = self.plain | self.limited | self.denied
        return frozenset(token for token in tokens if token == ONESELF or token.startswith(OWNER_OF_ANY_TYPE))


def units_of(snapshot: Snapshot, privilege: str, types: Iterable[str]) -> tuple[Unit, ...]:
    """Return the units of a privilege for these types of entities, in an order that depends on the statements alone."""
    said: dict[tuple[str, tuple[Criterion, ...]], tuple[set[str], set[str], set[str]]] = {}
    wanted = sorted(set(types))
    for statement in snapshot.listed(privilege):
        criteria = statement.resources.criteria
        rest = tuple(criterion for criterion in criteria if criterion.field != TYPE)
        tests = [criterion for criterion in criteria if criterion.field == TYPE]
        for type_ in wanted:
            if all(test.holds(frozenset((type_,)) if type_ else frozenset()) for test in tests):
                kinds = said.setdefault((type_, rest), (set(), set(), set()))
                kinds[_kind(statement)].update(statement.actors.tokens)
    ordered = sorted(said.items(), key=lambda item: (item[0][0], [_order(one) for one in item[0][1]]))
    return tuple(
        Unit(type_, rest, frozenset(plain), frozenset(limited), frozenset(denied))
        for (type_, rest), (plain, limited, denied) in ordered
    )


@dataclass(frozen=True, slots=True)
class Alike:
    """Entities that the same units cover, by number: `covering` units that want something, `without` wide ones."""

    covering: tuple[int, ...]
    without: tuple[int, ...]
    type: str
    entities: Sequence[int]


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who reaches the entities of a group: `shared` all of them, `more` further actors of single entities.

    `more` leaves out entities that nobody else reaches. `decided` are those among them that a restricted allow reaches.
    """

    alike: Alike
    shared: FrozenBitMap
    more: Mapping[int, FrozenBitMap]
    decided: Mapping[int, FrozenBitMap] = field(default_factory=dict)

    def of(self, number: int) -> FrozenBitMap:
        """Return who reaches one entity of the group."""
        return self.shared | self.more[number] if number in self.more else self.shared


class Crowds:
    """What units say about people; serves any number of slices of entities."""

    def __init__(self, snapshot: Snapshot, privilege: str, units: Sequence[Unit], people: People) -> None:
        self.units = units
        self._snapshot = snapshot
        self._privilege = privilege
        self._people = people
        self._wide: dict[str, list[int]] = defaultdict(list)
        for number, unit in enumerate(units):
            if unit.is_wide:
                self._wide[unit.type].append(number)
        self._known: dict[tuple[int, int], FrozenBitMap] = {}
        self._bases: dict[tuple[str, tuple[int, ...], int], FrozenBitMap] = {}
        self._kinds = [kind for kind in range(3) if any(_tokens(unit, kind) for unit in units)]

    def of(self, postings: Postings) -> Iterator[Crowd]:
        """Give who reaches the entities of a slice, those alike together; every entity is in one group.

        Raises MissingFact when a facet that a statement tests was not loaded.
        """
        slice_ = _Slice(postings, self.units)
        for alike in slice_.groups():
            covering = self._covering(alike)
            shared = [self._shared(alike, kind) for kind in range(3)]
            towards = frozenset[str]().union(*(self.units[number].towards for number in covering))
            if not towards and not shared[1]:
                yield Crowd(alike, shared[0] - shared[2] | self._people.always, {})
            elif not shared[1] and not shared[2] and self._kinds == [0]:
                yield Crowd(alike, shared[0] | self._people.always, self._owning(slice_, alike, towards, shared[0]))
            else:
                yield self._single(slice_, alike, covering, shared)

    def _covering(self, alike: Alike) -> list[int]:
        without = frozenset(alike.without)
        return [*alike.covering, *(number for number in self._wide.get(alike.type, ()) if number not in without)]

    def _shared(self, alike: Alike, kind: int) -> FrozenBitMap:
        if kind not in self._kinds:
            return NONE
        key = (alike.type, alike.without, kind)
        base = self._bases.get(key)
        if base is None:
            without = frozenset(alike.without)
            numbers = (number for number in self._wide.get(alike.type, ()) if number not in without)
            base = self._bases[key] = union(self._named(number, kind) for number in numbers)
        return union((base, *(self._named(number, kind) for number in alike.covering))) if alike.covering else base

    def _named(self, number: int, kind: int) -> FrozenBitMap:
        found = self._known.get((number, kind))
        if found is None:
            found = self._known[number, kind] = self._people.behind(_tokens(self.units[number], kind))
        return found

    def _owning(
        self, slice_: "_Slice", alike: Alike, towards: frozenset[str], shared: FrozenBitMap
    ) -> dict[int, FrozenBitMap]:
        more: dict[int, FrozenBitMap] = {}
        for number in alike.entities:
            others = self._near(slice_, number, towards) - shared
            if others:
                more[number] = others
        return more

    def _near(self, slice_: "_Slice", number: int, towards: Iterable[str]) -> FrozenBitMap:
        """Return the actors that have one of the tokens towards an entity: being it, or owning it."""
        holders: list[str] = []
        itself = NONE
        for token in towards:
            if token == ONESELF:
                itself = self._people.oneself(slice_.postings.urns[number])
            elif token.startswith(OWNER_OF_ANY_TYPE):
                holders += slice_.owners(token).get(number, ())
        return itself | self._people.holding(holders) if holders else itself

    def _single(self, slice_: "_Slice", alike: Alike, covering: Sequence[int], shared: Sequence[FrozenBitMap]) -> Crowd:
        """Look at each entity of a group whose owners or restrictions count."""
        more: dict[int, FrozenBitMap] = {}
        decided: dict[int, FrozenBitMap] = {}
        own = [frozenset[str]().union(*(_tokens(self.units[one], kind) for one in covering)) for kind in range(3)]
        answers: dict[frozenset[str], bool] = {}
        is_alike = not any(self.units[number].towards for number in covering)
        for number in alike.entities:
            plain, limited, denied = (shared[kind] | self._near(slice_, number, own[kind]) for kind in range(3))
            allowed = self._decided(slice_, number, limited - denied, own, answers if is_alike else {})
            if allowed:
                decided[number] = allowed
            found = (plain - limited - denied) | allowed | self._people.always
            if found:
                more[number] = found
        return Crowd(alike, NONE, more, decided)

    def _decided(
        self,
        slice_: "_Slice",
        number: int,
        undecided: FrozenBitMap,
        own: Sequence[frozenset[str]],
        answers: dict[frozenset[str], bool],
    ) -> FrozenBitMap:
        """Decide about actors that a restricted allow reaches; those who hold the same of what is named are alike."""
        if not undecided:
            return NONE
        named = frozenset[str]().union(*own)
        has_owners = any(token.startswith(OWNER_OF_ANY_TYPE) or token == ONESELF for token in named)
        resource = slice_.postings.resource(number)
        allowed = BitMap()
        for person in undecided:
            actor = self._people.actors[person]
            key = frozenset((actor.urn,)) if has_owners else actor.tokens & named
            if key not in answers:
                answers[key] = decide(self._snapshot, Question(actor, self._privilege, resource)).is_allowed
            if answers[key]:
                allowed.add(person)
        return FrozenBitMap(allowed)


class _Slice:
    """Which units cover each entity of a slice, and who owns it."""

    def __init__(self, postings: Postings, units: Sequence[Unit]) -> None:
        self.postings = postings
        self._units = units
        self._owners: dict[str, dict[int, list[str]]] = {}

    def groups(self) -> Iterator[Alike]:
        """Give the entities of the slice, grouped by the units that cover them."""
        covering: dict[int, list[int]] = defaultdict(list)
        without: dict[int, list[int]] = defaultdict(list)
        for place, unit in enumerate(self._units):
            block = self.postings.of_type(unit.type)
            if not block:
                continue
            extent = self.postings.extent(Selector(unit.criteria)) & block
            found, lists = (block - extent, without) if unit.is_wide else (extent, covering)
            for number in found:
                lists[number].append(place)
        alike: dict[tuple[str, tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
        for number, type_ in enumerate(self.postings.types):
            alike[type_, tuple(covering.get(number, ())), tuple(without.get(number, ()))].append(number)
        for (type_, wanting, missing), numbers in alike.items():
            yield Alike(wanting, missing, type_, numbers)

    def owners(self, token: str) -> Mapping[int, list[str]]:
        """Return, for each entity that has some, the owners that a token stands for."""
        owners = self._owners.get(token)
        if owners is None:
            owners = self._owners[token] = defaultdict(list)
            type_ = None if token == OWNER_OF_ANY_TYPE else token.removeprefix(owner_token(""))
            for holder, numbers in self.postings.owners(type_).items():
                for number in numbers:
                    owners[number].append(holder)
        return owners


def _inverted(named: Iterable[tuple[int, Iterable[str]]]) -> dict[str, FrozenBitMap]:
    found: dict[str, list[int]] = defaultdict(list)
    for number, names in named:
        for name in names:
            found[name].append(number)
    return {name: FrozenBitMap(numbers) for name, numbers in found.items()}


def _tokens(unit: Unit, kind: int) -> frozenset[str]:
    return (unit.plain, unit.limited, unit.denied)[kind]


def _kind(statement: Statement) -> int:
    if statement.effect is Effect.DENY:
        return 2
    return 0 if statement.restriction is None else 1


def _order(criterion: Criterion) -> tuple[str, str, list[str]]:
    return criterion.field, criterion.condition, sorted(criterion.values)
