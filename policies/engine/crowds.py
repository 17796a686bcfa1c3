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
from dataclasses import dataclass, field, replace

from pyroaring import BitMap, FrozenBitMap

from policies.engine.conditional import Opened, kind_of
from policies.engine.evaluate import decide
from policies.engine.matching import (
    ONESELF,
    OWNER_OF_ANY_TYPE,
    TYPE,
    Condition,
    Criterion,
    Resource,
    Selector,
    owner_token,
)
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question
from policies.engine.postings import NONE, Postings, union
from policies.engine.snapshot import Snapshot


class People:
    """Actors by number, and the crowd behind each token; inactive ones are in no crowd, the system actor in all."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        self.actors = actors
        self.numbers = {actor.urn: number for number, actor in enumerate(actors)}
        self.always = FrozenBitMap(number for number, actor in enumerate(actors) if actor.urn == SYSTEM_ACTOR)
        active = [(number, actor) for number, actor in enumerate(actors) if actor.is_active]
        self.everybody = FrozenBitMap(number for number, _ in active) | self.always
        self._behind = _inverted((number, actor.tokens) for number, actor in active)
        self._holding = _inverted((number, actor.holders) for number, actor in active)

    def behind(self, tokens: Iterable[str]) -> FrozenBitMap:
        """Return the actors that have one of the tokens."""
        return union(self._behind[token] for token in tokens if token in self._behind)

    def holding(self, holders: Iterable[str]) -> list[FrozenBitMap]:
        """Return, for each of these that is known, the actors that own what it owns: itself, or members of a group."""
        return [found for holder in holders if (found := self._holding.get(holder)) is not None]

    def acting(self) -> Iterator[tuple[int, Actor]]:
        """Give those who may act, with their numbers, but for the system actor."""
        return ((self.numbers[one.urn], one) for one in self.actors if one.is_active and one.urn != SYSTEM_ACTOR)

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
    """Return the units of a privilege for these types of entities, in an order that depends on the statements alone.

    Statements with provisos are in none: they speak to each actor apart (`policies.engine.conditional`).
    """
    said: dict[tuple[str, tuple[Criterion, ...]], tuple[set[str], set[str], set[str]]] = {}
    wanted = sorted(set(types))
    for statement in snapshot.listed(privilege):
        if statement.provisos:
            continue
        criteria = statement.resources.criteria
        rest = tuple(criterion for criterion in criteria if criterion.field != TYPE)
        tests = [criterion for criterion in criteria if criterion.field == TYPE]
        for type_ in wanted:
            if all(test.holds(frozenset((type_,)) if type_ else frozenset()) for test in tests):
                kinds = said.setdefault((type_, rest), (set(), set(), set()))
                kinds[kind_of(statement)].update(statement.actors.tokens)
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
    """Who reaches the entities of a group: `base` and `extra` all of them, `more` further actors of single entities.

    The three share nobody, and many groups have one `base`. `more` leaves out entities that nobody else reaches;
    `decided` are those in it that a restricted allow reaches.
    """

    alike: Alike
    base: FrozenBitMap
    extra: FrozenBitMap
    more: Mapping[int, FrozenBitMap]
    decided: Mapping[int, FrozenBitMap] = field(default_factory=dict)

    def of(self, number: int) -> FrozenBitMap:
        """Return who reaches one entity of the group."""
        shared = self.base | self.extra
        return shared | self.more[number] if number in self.more else shared


class _Base:
    """The wide units of a type that cover an entity: whom they name, and what units add to them for everybody else."""

    def __init__(
        self, units: Sequence[int], towards: frozenset[str], people: Sequence[FrozenBitMap], everybody: FrozenBitMap
    ) -> None:
        self.units = units
        self.towards = towards
        self.people = people
        self.others = everybody - people[0]
        self._added: dict[int, FrozenBitMap] = {}

    def added(self, number: int, named: FrozenBitMap) -> FrozenBitMap:
        """Return whom a unit, which plainly names these, adds."""
        found = self._added.get(number)
        if found is None:
            found = self._added[number] = named & self.others
        return found


class Crowds:
    """What units say about people; serves any number of slices of entities."""

    def __init__(self, snapshot: Snapshot, privilege: str, units: Sequence[Unit], people: People) -> None:
        self.units = units
        self._snapshot = snapshot
        self._privilege = privilege
        self._people = people
        self._towards = [unit.towards for unit in units]
        self._wide: dict[str, list[int]] = defaultdict(list)
        for number, unit in enumerate(units):
            if unit.is_wide:
                self._wide[unit.type].append(number)
        self._known: dict[tuple[int, int], FrozenBitMap] = {}
        self._bases: dict[tuple[str, tuple[int, ...]], _Base] = {}
        self._is_plain = not any(unit.limited or unit.denied for unit in units)
        self._conditional = [one for one in snapshot.listed(privilege) if one.provisos]
        self._is_barred = any(one.effect is Effect.DENY for one in self._conditional)

    def of(self, postings: Postings) -> Iterator[Crowd]:
        """Give who reaches the entities of a slice, those alike together; every entity is in one group.

        Raises MissingFact when a facet that a statement tests was not loaded.
        """
        slice_ = _Slice(postings, self.units)
        opened = Opened(postings, self._conditional, self._people.acting()) if self._conditional else None
        for alike in slice_.groups():
            base = self._base(alike)
            if self._is_plain and not self._is_barred:
                crowd = self._plain(slice_, alike, base)
            else:
                crowd = self._single(slice_, alike, [*alike.covering, *base.units], base)
            yield crowd if opened is None else self._opened(crowd, opened, postings)

    def _opened(self, crowd: Crowd, opened: Opened, postings: Postings) -> Crowd:
        """Return the crowd with those whom statements with provisos let in, without those whom they keep out."""
        more, decided = dict(crowd.more), dict(crowd.decided)
        for number in crowd.alike.entities:
            gained = opened.allowed.get(number, NONE) - crowd.of(number)
            if gained and not self._is_plain:
                gained = self._allowed(gained, postings.resource(number))
            lost = opened.denied.get(number, NONE)
            for found, added in ((more, gained), (decided, NONE)):
                kept = (found.get(number, NONE) | added) - lost
                if kept:
                    found[number] = kept
                else:
                    found.pop(number, None)
        return replace(crowd, more=more, decided=decided)

    def _allowed(self, people: FrozenBitMap, resource: Resource) -> FrozenBitMap:
        questions = ((one, Question(self._people.actors[one], self._privilege, resource)) for one in people)
        return FrozenBitMap(one for one, question in questions if decide(self._snapshot, question).is_allowed)

    def _base(self, alike: Alike) -> _Base:
        key = (alike.type, alike.without)
        base = self._bases.get(key)
        if base is None:
            without = frozenset(alike.without)
            units = [number for number in self._wide.get(alike.type, ()) if number not in without]
            towards = frozenset[str]().union(*(self._towards[number] for number in units))
            named = [union(self._named(number, kind) for number in units) for kind in range(3)]
            named[0] |= self._people.always
            base = self._bases[key] = _Base(units, towards, named, self._people.everybody)
        return base

    def _plain(self, slice_: "_Slice", alike: Alike, base: _Base) -> Crowd:
        """Look at a group of which only plain allows speak."""
        extra = union(found for number in alike.covering if (found := base.added(number, self._named(number, 0))))
        towards = base.towards.union(*(self._towards[number] for number in alike.covering))
        more: dict[int, FrozenBitMap] = {}
        if towards:
            others = base.others - extra if extra else base.others
            for number in alike.entities:
                # Most owners are among those whom the base names, and a union costs more than looking first.
                unnamed = [some for near in self._near(slice_, number, towards) if (some := near & others)]
                if unnamed:
                    more[number] = union(unnamed)
        return Crowd(alike, base.people[0], extra, more)

    def _named(self, number: int, kind: int) -> FrozenBitMap:
        found = self._known.get((number, kind))
        if found is None:
            found = self._known[number, kind] = self._people.behind(_tokens(self.units[number], kind))
        return found

    def _near(self, slice_: "_Slice", number: int, towards: frozenset[str]) -> list[FrozenBitMap]:
        """Return the actors that have one of the tokens towards an entity: being it, or owning it."""
        near = self._people.holding(slice_.owners(towards).get(number, ()))
        if ONESELF in towards:
            near.append(self._people.oneself(slice_.postings.urns[number]))
        return near

    def _single(self, slice_: "_Slice", alike: Alike, covering: Sequence[int], base: _Base) -> Crowd:
        """Look at each entity of a group whose owners or restrictions count."""
        more: dict[int, FrozenBitMap] = {}
        decided: dict[int, FrozenBitMap] = {}
        shared = [
            union((base.people[kind], *(self._named(number, kind) for number in alike.covering))) for kind in range(3)
        ]
        own = [frozenset[str]().union(*(_tokens(self.units[one], kind) for one in covering)) for kind in range(3)]
        answers: dict[frozenset[str], bool] = {}
        is_alike = not any(self._towards[number] for number in covering)
        for number in alike.entities:
            plain, limited, denied = (
                union((shared[kind], *self._near(slice_, number, own[kind]))) for kind in range(3)
            )
            allowed = self._decided(slice_, number, limited - denied, own, answers if is_alike else {})
            if allowed:
                decided[number] = allowed
            found = (plain - limited - denied) | allowed | self._people.always
            if found:
                more[number] = found
        return Crowd(alike, NONE, NONE, more, decided)

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
        self._owners: dict[frozenset[str], dict[int, list[str]]] = {}

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

    def owners(self, towards: frozenset[str]) -> Mapping[int, list[str]]:
        """Return, for each entity that has some, the owners that one of the tokens stands for."""
        owners = self._owners.get(towards)
        if owners is None:
            owners = self._owners[towards] = defaultdict(list)
            # An owner of some type is one of any type.
            for token in (OWNER_OF_ANY_TYPE,) if OWNER_OF_ANY_TYPE in towards else towards:
                if token.startswith(OWNER_OF_ANY_TYPE):
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


def _order(criterion: Criterion) -> tuple[str, str, list[str]]:
    return criterion.field, criterion.condition, sorted(criterion.values)
