"""What one actor reaches by what it is, owns, and is known for: the part of `bulk` that is worked out actor by actor.

Statements with provisos have no crowd: whom they speak to hangs on what is known of each.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator

from pyroaring import FrozenBitMap

from policies.engine.actor_conditions import cover_of, mentioned, relevant, settled
from policies.engine.model import Actor, Cover, Effect, Statement
from policies.engine.postings import NONE, Postings, union
from policies.engine.selectors import ONESELF, OWNER_OF_ANY_TYPE


class Own:
    """What one actor is or owns, each kind of ownership looked up once: many statements speak to owners alike."""

    def __init__(self, postings: Postings, actor: Actor) -> None:
        self._postings = postings
        self._actor = actor
        self._found: dict[tuple[bool, bool, frozenset[str] | None], FrozenBitMap] = {}

    def reached(self, cover: Cover) -> FrozenBitMap:
        """Return the entities that a cover reaches."""
        extent = self._postings.extent(cover.selector)
        if cover.is_unconditional:
            return extent
        key = (cover.is_self, cover.is_owned, cover.owner_types)
        own = self._found.get(key)
        if own is None:
            own = self._found[key] = union(self._kinds(cover))
        return extent & own

    def _kinds(self, cover: Cover) -> Iterator[FrozenBitMap]:
        if cover.is_self:
            yield itself(self._postings, self._actor)
        if cover.is_owned:
            types: Collection[str | None] = (None,) if cover.owner_types is None else cover.owner_types
            for owner_type in types:
                yield self._postings.owned(self._actor.holders, owner_type)


class Conditional:
    """What statements with provisos give to one actor: each as it speaks to that actor."""

    def __init__(self, postings: Postings, statements: list[Statement]) -> None:
        self.statements = statements
        self._postings = postings
        self._tokens = frozenset[str]().union(*(one.actors.tokens for one in statements))
        self._mentioned = mentioned(statements)
        self._is_towards = any(one == ONESELF or one.startswith(OWNER_OF_ANY_TYPE) for one in self._tokens)

    def key(self, actor: Actor) -> object:
        """Return what is the same for actors to whom the same is given."""
        if not self.statements:
            return None
        who = actor.urn if self._is_towards else ""
        return actor.tokens & self._tokens, relevant(actor, self._mentioned), who

    def to(self, actor: Actor) -> tuple[FrozenBitMap, ...]:
        """Return the entities that are given to an actor by plain allows, by restricted ones, and by denies."""
        own, tokens = Own(self._postings, actor), actor.tokens
        kinds: tuple[list[FrozenBitMap], ...] = ([], [], [])
        for statement in self.statements:
            found = settled(statement, actor)
            if found is not None:
                kinds[kind_of(statement)].append(own.reached(cover_of(found, tokens)))
        return tuple(union(kind) for kind in kinds)


class Opened:
    """Whom statements with provisos let in (`allowed`) and keep out (`denied`), by the entities of a slice.

    `actors` are those who may act, by their numbers in a crowd. Those alike to the statements are looked at once.
    """

    def __init__(self, postings: Postings, statements: list[Statement], actors: Iterable[tuple[int, Actor]]) -> None:
        given = Conditional(postings, statements)
        alike: dict[object, list[tuple[int, Actor]]] = defaultdict(list)
        for number, actor in actors:
            alike[given.key(actor)].append((number, actor))
        kinds: tuple[dict[int, list[FrozenBitMap]], ...] = (defaultdict(list), defaultdict(list))
        for some in alike.values():
            crowd = FrozenBitMap(number for number, _ in some)
            plain, _, denied = given.to(some[0][1])
            for kind, entities in zip(kinds, (plain, denied), strict=True):
                for entity in entities:
                    kind[entity].append(crowd)
        self.allowed, self.denied = ({entity: union(crowds) for entity, crowds in kind.items()} for kind in kinds)


def itself(postings: Postings, actor: Actor) -> FrozenBitMap:
    """Return the entity that an actor is."""
    number = postings.number(actor.urn)
    return NONE if number is None else FrozenBitMap((number,))


def kind_of(statement: Statement) -> int:
    """Return the place of a statement among plain allows, restricted allows and denies."""
    if statement.effect is Effect.DENY:
        return 2
    return 0 if statement.restriction is None else 1
