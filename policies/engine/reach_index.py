"""The same question for all entities at once: set algebra over entities, the mirror image of the snapshot's.

Entities are numbered from 0. A posting is the set of entities that share one facet value, an extent the set that one
selector covers; both are compressed bitmaps. Questions about a type alone or without a resource have no place here, and
sub-resources neither. What a restricted allow reaches is left open, for `decide`: several restrictions together may
show nothing, and that depends on the roles of the actor (rules/datazone.md DZ-55 to DZ-57).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pyroaring import FrozenBitMap

from policies.engine.actor_conditional_reach import Conditional, Own, itself, kind_of
from policies.engine.model import SYSTEM_ACTOR, Actor, Coverage, Effect, Statement
from policies.engine.postings import NONE, Postings, union
from policies.engine.selectors import (
    EVERYONE,
    IN_ANY_GROUP,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    Resource,
    owner_token,
    resource_tokens,
)
from policies.engine.snapshot import Snapshot

_GROUP, _ROLE = "urn:li:corpGroup:", "urn:li:dataHubRole:"


@dataclass(frozen=True, slots=True)
class Covered:
    """What one actor may use one privilege on.

    `certain` are allowed. `undecided` are reached by a restricted allow and by no deny: `decide` must say, one by one.
    """

    certain: FrozenBitMap
    undecided: FrozenBitMap


def covered(postings: Postings, coverage: Coverage) -> Covered:
    """Return the entities that a coverage reaches by some of its allows and by none of its denies.

    Raises MissingFact when a facet it tests was not loaded.
    """
    if coverage.is_everything:
        return Covered(postings.everything, NONE)
    own = Own(postings, coverage.actor)
    allowed = [(cover.statement.restriction is None, own.reached(cover)) for cover in coverage.allows]
    return _settled(
        union(reached for is_plain, reached in allowed if is_plain),
        union(reached for is_plain, reached in allowed if not is_plain),
        union(own.reached(cover) for cover in coverage.denies),
    )


class Reach:
    """What actors reach with one privilege; everything that does not depend on the actor is computed once.

    One posting a token: the entities that some statement gives to whoever has the token, and to owners what the token
    owns. An actor's reach is the union over its tokens, so actors share the work for their groups and roles, and those
    with the same tokens share all. What statements with provisos give is worked out for each actor.
    """

    def __init__(self, postings: Postings, snapshot: Snapshot, privilege: str) -> None:
        self._postings = postings
        kinds: tuple[dict[str, list[FrozenBitMap]], ...] = (defaultdict(list), defaultdict(list), defaultdict(list))
        listed = snapshot.listed(privilege)
        self._open = Conditional(postings, [statement for statement in listed if statement.provisos])
        for statement in listed:
            if statement.provisos:
                continue
            extent = postings.extent(statement.resources)
            for token in statement.actors.tokens:
                kinds[kind_of(statement)][token].append(extent)
        self._kinds = tuple(
            _Given(postings, {token: union(extents) for token, extents in kind.items()}) for kind in kinds
        )

    def of(self, actor: Actor) -> Covered:
        """Return what one actor reaches; equal to `covered` of its coverage."""
        if actor.urn == SYSTEM_ACTOR:
            return Covered(self._postings.everything, NONE)
        if not actor.is_active:
            return Covered(NONE, NONE)
        given = [kind.to(actor) for kind in self._kinds]
        if self._open.statements:
            given = [one | more for one, more in zip(given, self._open.to(actor), strict=True)]
        return _settled(*given)

    def counts(self, actors: Iterable[Actor]) -> dict[str, int]:
        """Return, for each actor, how many entities it certainly reaches (restricted allows left out)."""
        counted: dict[str, int] = {}
        alike: dict[tuple[object, ...], int] = {}
        for actor in actors:
            kinds = (kind.key(actor) for kind in self._kinds)
            key = (actor.is_active, actor.urn == SYSTEM_ACTOR, *kinds, self._open.key(actor))
            found = alike.get(key)
            if found is None:
                found = alike[key] = len(self.of(actor).certain)
            counted[actor.urn] = found
        return counted


class _Given:
    """What one kind of statement gives to whoever has a token."""

    def __init__(self, postings: Postings, named: dict[str, FrozenBitMap]) -> None:
        self._postings = postings
        self._named = named
        self._tokens = frozenset(named)
        size = len(postings.everything)
        self._whole = frozenset(token for token, entities in named.items() if len(entities) == size)
        types = [token for token in named if token.startswith(OWNER_OF_ANY_TYPE)]
        self._owned = {token: postings.owners(_owner_type(token)) for token in types}
        self._owners = frozenset(postings.owners(None)) if types else frozenset[str]()
        self._held: dict[str, FrozenBitMap] = {}

    def key(self, actor: Actor) -> object:
        """Return what is the same for actors to whom the same is given."""
        if not self._named:
            return None
        tokens = actor.tokens
        if not self._whole.isdisjoint(tokens):
            return True
        itself = actor.urn if ONESELF in self._named and self._postings.number(actor.urn) is not None else ""
        return (tokens & self._tokens, actor.holders & self._owners if self._owners else None, itself)

    def to(self, actor: Actor) -> FrozenBitMap:
        """Return the entities that are given to an actor."""
        if not self._named:
            return NONE
        tokens, holders = actor.tokens, actor.holders
        if not self._whole.isdisjoint(tokens):
            return self._postings.everything
        found = [held for holder in holders if (held := self._to_holder(holder))]
        found += [self._named[token] for token in (tokens & self._tokens) - holders]
        if ONESELF in self._named:
            found.append(self._named[ONESELF] & itself(self._postings, actor))
        return union(found)

    def _to_holder(self, holder: str) -> FrozenBitMap:
        """Return what a user or group is given by name, and as owner of an entity."""
        found = self._held.get(holder)
        if found is None:
            parts = [self._named[holder]] if holder in self._named else []
            if holder in self._owners:
                owned = ((token, owners.get(holder)) for token, owners in self._owned.items())
                parts += [self._named[token] & entities for token, entities in owned if entities is not None]
            found = self._held[holder] = union(parts)
        return found


@dataclass(frozen=True, slots=True)
class Difference:
    """Which entities were gained and which were lost between two states."""

    gained: FrozenBitMap
    lost: FrozenBitMap


def difference(before: FrozenBitMap, after: FrozenBitMap) -> Difference:
    """Compare two extents, or two answers about one actor, over the same numbering."""
    return Difference(after - before, before - after)


@dataclass(frozen=True, slots=True)
class Who:
    """Whom the statements on a privilege name, towards one resource. Groups and roles are not expanded."""

    is_all_users: bool
    is_all_groups: bool
    users: tuple[str, ...]
    groups: tuple[str, ...]
    roles: tuple[str, ...]
    version: int


def who(snapshot: Snapshot, privilege: str, resource: Resource | None) -> Who:
    """Return whom allows name for a privilege on a resource, owners among users and groups (rules/datahub.md a.8).

    A deny takes out exactly whom it names: of everybody all, of all groups every group and `is_all_groups`, of a group
    that group. It does not take its members out of other names, since nothing is expanded: `decide` is exact for one
    actor. An allow with provisos names nobody, a deny with provisos whomever it may deny. That everybody may use some
    privileges on itself is not told.
    Raises MissingFact when a facet that one of the statements tests was not loaded.
    """
    allowed: set[str] = set()
    denied: set[str] = set()
    for statement in snapshot.about(privilege, resource):
        if statement.effect is Effect.DENY:
            denied |= _named_by(statement, resource)
        elif not statement.provisos:
            allowed |= _named_by(statement, resource)
    if EVERYONE in denied:
        allowed.clear()
    if IN_ANY_GROUP in denied:
        allowed = {name for name in allowed if not name.startswith(_GROUP)}
    names = sorted(allowed - denied)
    return Who(
        is_all_users=EVERYONE in names,
        is_all_groups=IN_ANY_GROUP in names,
        users=tuple(name for name in names if not name.startswith((EVERYONE, _GROUP, _ROLE))),
        groups=tuple(name for name in names if name.startswith(_GROUP)),
        roles=tuple(name for name in names if name.startswith(_ROLE)),
        version=snapshot.version,
    )


def _named_by(statement: Statement, resource: Resource | None) -> set[str]:
    """Return the URNs, EVERYONE and IN_ANY_GROUP that a statement names, the owners it speaks to among them."""
    tokens = statement.actors.tokens
    names = {token for token in tokens if token in (EVERYONE, IN_ANY_GROUP) or not token.startswith(EVERYONE)}
    for owner in resource.owners if resource is not None else ():
        holders = frozenset((owner.actor,))
        if not tokens.isdisjoint(resource_tokens("", holders, resource)):
            names.add(owner.actor)
    return names


def _settled(plain: FrozenBitMap, limited: FrozenBitMap, denied: FrozenBitMap) -> Covered:
    """Deny wins; what a restricted allow reaches is undecided even where a plain one reaches it too (DZ-55, DZ-67)."""
    if not limited and not denied:
        return Covered(plain, NONE)
    return Covered(plain - limited - denied, limited - denied)


def _owner_type(token: str) -> str | None:
    return None if token == OWNER_OF_ANY_TYPE else token.removeprefix(owner_token(""))
