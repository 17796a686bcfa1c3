"""The model of the engine: actor, statement, question, decision and coverage.

All classes are immutable; nothing here reads a clock, a setting or a database.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol, Self

from policies.engine.property_conditions import ActorCondition
from policies.engine.restrictions import Restriction, RoleSlice
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, ActorMatch, Resource, Selector

#: The actor of the product itself: always allowed, nothing else is read (rules/datahub.md a.1).
SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"


class Effect(StrEnum):
    """The effect of a statement on the questions it matches."""

    ALLOW = "allow"
    DENY = "deny"


class DecisionCode(StrEnum):
    """The cause of a decision (api.md section 1)."""

    ALLOWED = "allowed"
    POLICIES_DISABLED = "policies_disabled"
    SYSTEM_ACTOR = "system_actor"
    EXPLICIT_DENY = "explicit_deny"
    IMPLICIT_DENY = "implicit_deny"
    NO_COLUMNS = "no_columns"
    PATH_NOT_ALLOWED = "path_not_allowed"
    ACTOR_SUSPENDED = "actor_suspended"
    ACTOR_REMOVED = "actor_removed"
    PRIVILEGE_UNKNOWN = "privilege_unknown"


@dataclass(frozen=True, slots=True)
class Actor:
    """The user who asks, with groups and roles already resolved.

    `roles` are its own and those of its groups, one hop (rules/datahub.md a.2). `attributes` are the known properties
    of the actor and of its action in this question, as (field, value) pairs (property_conditions). `tokens` are those
    by which an actor clause can name it, without those that depend on the resource. `ends` says until when it is in a
    group or holds a role, as (URN, time), for those that it has for a time; nothing is decided by it. An actor that is
    not active is suspended or, if it `is_removed`, removed or deleted.
    """

    urn: str
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    is_active: bool = True
    attributes: frozenset[tuple[str, str]] = frozenset()
    ends: tuple[tuple[str, datetime], ...] = field(default=(), repr=False, compare=False)
    is_removed: bool = field(default=False, compare=False)
    tokens: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own_tokens = (self.urn, EVERYONE, IN_ANY_GROUP) if self.groups else (self.urn, EVERYONE)
        object.__setattr__(self, "tokens", self.groups.union(self.roles, own_tokens))

    @property
    def holders(self) -> frozenset[str]:
        """The URNs by which it can own an entity: its own and its groups'."""
        return self.groups | {self.urn}


@dataclass(frozen=True, slots=True)
class StatementOrigin:
    """The origin of a statement: the policy's URN and name, and the statement's index in its document."""

    policy: str
    name: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """The smallest rule: these actors may (or may not) use these privileges on these resources.

    `privileges` is expanded: wildcards and implications were resolved when the policy was compiled. `subresources`
    constrains the sub-resources of a question; None if unconstrained: an allow needs that all of them pass, a deny that
    at least one does. The statement applies only to actors and actions that meet all `actor_conditions`; a statement
    that has any, or excludes actors, has no restriction. `ends` is the time at which it no longer counts, if one is
    known; nothing is decided by it.
    """

    origin: StatementOrigin
    effect: Effect
    actors: ActorMatch
    privileges: frozenset[str]
    resources: Selector
    subresources: Selector | None = None
    restriction: Restriction | None = None
    actor_conditions: tuple[ActorCondition, ...] = ()
    ends: datetime | None = field(default=None, repr=False, compare=False)

    @property
    def is_actor_specific(self) -> bool:
        """Whether it can reach different entities for actors that it names by the same token."""
        return bool(self.actor_conditions or self.actors.excluded_tokens)

    @property
    def needs_subresource(self) -> bool:
        """Whether it says nothing of a question without sub-resources: a constrained deny (api-next.md section 1)."""
        return self.effect is Effect.DENY and self.subresources is not None


class Question(NamedTuple):
    """May this actor use this privilege on this resource, touching these sub-resources?

    A tuple and not a dataclass, as `Decision` is one.
    """

    actor: Actor
    privilege: str
    resource: Resource | None = None
    subresources: tuple[Resource, ...] = ()


class MissingPrivilege(NamedTuple):
    """A missing privilege, and the entity on which it is missing (None for a platform privilege)."""

    entity: str | None
    privilege: str


class StatementSource(Protocol):
    """The numbering of statements, which turns a bit set of numbers back into statements."""

    def select(self, bits: int) -> tuple[Statement, ...]:
        """Return the statements with these numbers, in the order of their origin."""


class Decision(NamedTuple):
    """The answer: yes or no, because of these statements, under these restrictions, at this policy version.

    `slices` is None if reading is not restricted. `missing` is the shortest list of privileges that would turn a
    refusal into an allow, `missing_any` all such lists in the order of the requirement (a bounded number). The deciding
    statements are stored as numbers and looked up on access, because most callers only want the answer. A tuple and not
    a dataclass, because creating a frozen dataclass would be a tenth of the cost of deciding.
    """

    is_allowed: bool
    code: DecisionCode
    version: int = 0
    slices: tuple[RoleSlice, ...] | None = None
    missing: tuple[MissingPrivilege, ...] = ()
    source: StatementSource | None = None
    bits: int = 0
    grants: tuple[Statement, ...] = ()
    missing_any: tuple[tuple[MissingPrivilege, ...], ...] = ()

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The deciding statements: every matching deny, else every matching allow, in the order of their origin."""
        source = self.source
        if source is None or not self.bits:
            return self.grants
        return source.select(self.bits) + self.grants if self.grants else source.select(self.bits)


@dataclass(frozen=True, slots=True)
class Cover:
    """One statement for one actor: the entities it reaches, and under which condition about the actor.

    If `is_unconditional`, it reaches all entities that the selector covers. Otherwise it reaches only those of them
    that the actor or one of its groups owns (`is_owned`; `owner_types` None for any type, else the types that count),
    and the actor's own entity (`is_self`). In either case not those that the actor or one of its groups owns as one of
    the `excluded_owner_types`.
    """

    statement: Statement
    is_unconditional: bool
    is_owned: bool = False
    owner_types: frozenset[str] | None = None
    is_self: bool = False
    excluded_owner_types: frozenset[str] = frozenset()

    @classmethod
    def from_resources(cls, resources: Selector) -> Self:
        """Return the cover of resources, whoever asks and whatever for."""
        return cls(
            Statement(StatementOrigin("", ""), Effect.ALLOW, ActorMatch(), frozenset(), resources),
            is_unconditional=True,
        )

    @property
    def selector(self) -> Selector:
        """The entities that the statement covers, before the condition about the actor."""
        return self.statement.resources


@dataclass(frozen=True, slots=True)
class Coverage:
    """The resources on which one actor may use one privilege: reached by some of `allows` and by none of `denies`.

    `is_everything` is true for an actor that no policy limits (the system actor, or policies switched off). A suspended
    actor has no allows. `granted_privilege` is the privilege if grants can give it too: they are looked up where they
    are stored, as one more allow.
    """

    actor: Actor
    allows: tuple[Cover, ...] = ()
    denies: tuple[Cover, ...] = ()
    version: int = 0
    is_everything: bool = False
    granted_privilege: str = ""
