"""Who may use one privilege on each of many entities, for all actors at once: `bulk` seen from the entities.

Actors are numbered from 0. A crowd is a set of actors, a compressed bitmap. Statements are gathered into units
(`policies.engine.statement_groups`), which speak to one crowd together. An entity is reached by the units that cover
it, so entities that the same units cover share their crowd but for owners.

No product of actors and entities is formed. What only a restricted allow reaches is decided one by one, each kind of
actor on each kind of entity once (rules/datazone.md DZ-55 to DZ-57, DZ-67).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from pyroaring import BitMap, FrozenBitMap

from policies.engine.actor_conditional_reach import Opened
from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question
from policies.engine.postings import NONE, Postings, union
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE, Resource, owner_token
from policies.engine.snapshot import Snapshot
from policies.engine.statement_groups import Alike, Unit, groups


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

    def holding(self, holder: str) -> FrozenBitMap:
        """Return the actors that own what somebody owns: itself, or members of a group."""
        return self._holding.get(holder, NONE)

    def acting(self) -> Iterator[tuple[int, Actor]]:
        """Give those who may act, with their numbers, but for the system actor."""
        return ((self.numbers[one.urn], one) for one in self.actors if one.is_active and one.urn != SYSTEM_ACTOR)

    def oneself(self, urn: str) -> FrozenBitMap:
        """Return the actor of this URN."""
        number = self.numbers.get(urn)
        return NONE if number is None or not self.actors[number].is_active else FrozenBitMap((number,))


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

    def added(self, number: int, named: Callable[[int], FrozenBitMap]) -> FrozenBitMap:
        """Return whom a unit adds, of those whom it plainly names."""
        found = self._added.get(number)
        if found is None:
            found = self._added[number] = named(number) & self.others
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
        told = [(alike, self._base(alike)) for alike in groups(postings, self.units)]
        opened = Opened(postings, self._conditional, self._people.acting()) if self._conditional else None
        if self._is_plain and not self._is_barred:
            found = self._plain(postings, told)
        else:
            near = _Near(postings, self._people, self._people.everybody)
            found = (self._single(near, alike, base) for alike, base in told)
        for crowd in found:
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

    def _plain(self, postings: Postings, told: Sequence[tuple[Alike, _Base]]) -> Iterator[Crowd]:
        """Look at groups of which only plain allows speak.

        Where every base names nearly everybody, hardly anybody else counts: what only these reach is left out at once.
        """
        bases = {id(base): base.people[0] for _, base in told}
        outside = self._people.everybody - FrozenBitMap.intersection(*bases.values()) if bases else NONE
        near = _Near(postings, self._people, outside)
        named = cache(lambda number: self._named(number, 0) & outside)
        for alike, base in told:
            extra = union(some for number in alike.covering if (some := base.added(number, named)))
            further = [own for number in alike.covering if not (own := self._towards[number]) <= base.towards]
            towards = base.towards.union(*further) if further else base.towards
            more: dict[int, FrozenBitMap] = {}
            for number, crowds in near.of(alike.entities, towards):
                # Most owners are among those whom the base names, and a union costs more than looking first.
                unnamed = [some for crowd in crowds if (some := (crowd & base.others) - extra)]
                if unnamed:
                    more[number] = union(unnamed)
            yield Crowd(alike, base.people[0], extra, more)

    def _named(self, number: int, kind: int) -> FrozenBitMap:
        found = self._known.get((number, kind))
        if found is None:
            found = self._known[number, kind] = self._people.behind(self.units[number].tokens(kind))
        return found

    def _single(self, near: "_Near", alike: Alike, base: _Base) -> Crowd:
        """Look at each entity of a group whose owners or restrictions count."""
        covering = (*alike.covering, *base.units)
        more: dict[int, FrozenBitMap] = {}
        decided: dict[int, FrozenBitMap] = {}
        shared = [
            union((base.people[kind], *(self._named(number, kind) for number in alike.covering))) for kind in range(3)
        ]
        own = [frozenset[str]().union(*(self.units[one].tokens(kind) for one in covering)) for kind in range(3)]
        answers: dict[frozenset[str], bool] = {}
        is_alike = not any(self._towards[number] for number in covering)
        for number in alike.entities:
            plain, limited, denied = (union((shared[kind], *near.one(number, own[kind]))) for kind in range(3))
            allowed = self._decided(near.postings, number, limited - denied, own, answers if is_alike else {})
            if allowed:
                decided[number] = allowed
            found = (plain - limited - denied) | allowed | self._people.always
            if found:
                more[number] = found
        return Crowd(alike, NONE, NONE, more, decided)

    def _decided(
        self,
        postings: Postings,
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
        resource = postings.resource(number)
        allowed = BitMap()
        for person in undecided:
            actor = self._people.actors[person]
            key = frozenset((actor.urn,)) if has_owners else actor.tokens & named
            if key not in answers:
                answers[key] = decide(self._snapshot, Question(actor, self._privilege, resource)).is_allowed
            if answers[key]:
                allowed.add(person)
        return FrozenBitMap(allowed)


class _Near:
    """The actors, of some, that have tokens only towards an entity: by being it, or by owning it."""

    def __init__(self, postings: Postings, people: People, some: FrozenBitMap) -> None:
        self.postings = postings
        self._people = people
        self._some = some
        self._owning: dict[frozenset[str], Mapping[int, list[FrozenBitMap]]] = {}

    def of(self, entities: Sequence[int], towards: frozenset[str]) -> Iterator[tuple[int, Sequence[FrozenBitMap]]]:
        """Give, for those of the entities that have any, the actors that one of the tokens stands for."""
        if not towards:
            return
        owning, is_oneself = self._owners(towards), ONESELF in towards
        for number in entities:
            found = owning.get(number, ())
            if is_oneself and (itself := self._people.oneself(self.postings.urns[number]) & self._some):
                found = (*found, itself)
            if found:
                yield number, found

    def one(self, number: int, towards: frozenset[str]) -> Sequence[FrozenBitMap]:
        """Return the actors that one of the tokens stands for towards one entity."""
        return next((found for _, found in self.of((number,), towards)), ())

    def _owners(self, towards: frozenset[str]) -> Mapping[int, list[FrozenBitMap]]:
        found = self._owning.get(towards)
        if found is None:
            found = self._owning[towards] = defaultdict(list)
            # An owner of some type is one of any type.
            for token in (OWNER_OF_ANY_TYPE,) if OWNER_OF_ANY_TYPE in towards else towards:
                if token.startswith(OWNER_OF_ANY_TYPE):
                    type_ = None if token == OWNER_OF_ANY_TYPE else token.removeprefix(owner_token(""))
                    for holder, numbers in self.postings.owners(type_).items():
                        if crowd := self._people.holding(holder) & self._some:
                            for number in numbers:
                                found[number].append(crowd)
        return found


def _inverted(named: Iterable[tuple[int, Iterable[str]]]) -> dict[str, FrozenBitMap]:
    found: dict[str, list[int]] = defaultdict(list)
    for number, names in named:
        for name in names:
            found[name].append(number)
    return {name: FrozenBitMap(numbers) for name, numbers in found.items()}
