"""The people who may use a privilege on one resource where names do not tell: each is decided about.

A deny, an exclusion or a condition separates members of one group. Then a group or role is named only if all of its
active members may, and the others stand under their own names (api.md section 1, `who`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from policies.engine.actor_conditions import relevant_attributes
from policies.engine.model import Actor
from policies.engine.named_actors import NamedActors
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.engine.snapshot import Snapshot
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, authorizer, users_by_actor_clause
from policies.pdp.access_requests import AccessRequest

#: Users whose groups and roles are loaded, and who are decided about, at once.
_CHUNK_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class JudgedPeople:
    """Who may and who may not: groups and roles all of whose active members are alike, and further users, in order.

    An active user may if it is one of `allowed_users`, has one of `allowed_names`, or is reached as everybody or as
    a member of any group and is neither one of `refused_users` nor has one of `refused_names`.
    """

    allowed_names: frozenset[str]
    refused_names: frozenset[str]
    allowed_users: tuple[str, ...]
    refused_users: tuple[str, ...]


@dataclass(slots=True)
class _Judgments:
    """The decisions on people: by person, with what the person is known by, and what members of a group or role got."""

    allowed_actors: list[Actor] = field(default_factory=list)
    refused_actors: list[Actor] = field(default_factory=list)
    names_of_allowed: set[str] = field(default_factory=set)
    names_of_refused: set[str] = field(default_factory=set)

    def add(self, actor: Actor, *, is_allowed: bool) -> None:
        """Note the decision on an active actor."""
        (self.allowed_actors if is_allowed else self.refused_actors).append(actor)
        (self.names_of_allowed if is_allowed else self.names_of_refused).update(actor.groups, actor.roles)


def judge_people(named_actors: NamedActors, request: AccessRequest, snapshot: Snapshot) -> JudgedPeople:
    """Return those who may and who may not, of the people that statements name for the request; raises as `decide`."""
    judgments = _Judgments()
    urns = _iterate_urns(named_actors.judged_tokens)
    while chunk := list(islice(urns, _CHUNK_SIZE)):
        actors = [actor for actor in actor_resolution.load_actors(urns=chunk).values() if actor.is_active]
        for actor, is_allowed in _judge_actors(actors, named_actors, request, snapshot):
            judgments.add(actor, is_allowed=is_allowed)
    allowed_names = _filter_shared(named_actors.names) - judgments.names_of_refused
    refused_names = _filter_shared(named_actors.exceptions) - judgments.names_of_allowed

    def is_reached(actor: Actor) -> bool:
        return EVERYONE in named_actors.names or (IN_ANY_GROUP in named_actors.names and bool(actor.groups))

    return JudgedPeople(
        allowed_names=allowed_names,
        refused_names=refused_names,
        allowed_users=_list_users(
            actor
            for actor in judgments.allowed_actors
            if actor.urn in named_actors.names or (allowed_names.isdisjoint(actor.tokens) and not is_reached(actor))
        ),
        refused_users=_list_users(
            actor
            for actor in judgments.refused_actors
            if actor.urn in named_actors.exceptions or (is_reached(actor) and refused_names.isdisjoint(actor.tokens))
        ),
    )


def _filter_shared(names: frozenset[str]) -> frozenset[str]:
    """Return the names that several people may have: those of groups and roles."""
    return frozenset(name for name in names if name.startswith((GROUP_PREFIX, ROLE_PREFIX)))


def _iterate_urns(tokens: frozenset[str]) -> Iterator[str]:
    """Yield each user that one of the tokens names, once; users who are named and not registered, too."""
    named_users = frozenset(token for token in tokens if token.startswith(USER_PREFIX))
    yield from named_users
    other_users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens).values_list("urn", flat=True)
    yield from (urn for urn in other_users if urn not in named_users)


def _judge_actors(
    actors: Iterable[Actor], named_actors: NamedActors, request: AccessRequest, snapshot: Snapshot
) -> Iterator[tuple[Actor, bool]]:
    """Yield each actor with the decision; those who have the same names and properties are decided about together."""
    classes: dict[tuple[frozenset[str], bool, frozenset[tuple[str, str]]], list[Actor]] = defaultdict(list)
    for actor in actors:
        attributes = relevant_attributes(actor, named_actors.judged_fields)
        classes[actor.tokens & named_actors.judged_tokens, bool(actor.groups), attributes].append(actor)
    members: Sequence[list[Actor]] = list(classes.values())
    decisions = authorizer.decide_staged(
        requests=[(first_actor, request) for first_actor, *_ in members], snapshot=snapshot
    )
    for alike_actors, decision in zip(members, decisions, strict=True):
        for actor in alike_actors:
            yield actor, decision.is_allowed


def _list_users(actors: Iterable[Actor]) -> tuple[str, ...]:
    return tuple(sorted(actor.urn for actor in actors))
