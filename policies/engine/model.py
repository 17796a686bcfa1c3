"""The nouns: who asks, what a statement says, what was asked and what was answered.

Frozen and slotted throughout; nothing here reads a clock, a setting or a database.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from policies.engine.property_conditions import ActorCondition
from policies.engine.restrictions import Restriction, RoleSlice
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP, ActorMatch, Resource, Selector

#: The actor as which the product itself acts: always allowed, nothing else is read (rules/datahub.md a.1).
SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"


class Effect(StrEnum):
    """What a statement does to the questions it matches."""

    ALLOW = "allow"
    DENY = "deny"


class DecisionCode(StrEnum):
    """Why a decision is what it is (api.md section 1)."""

    ALLOWED = "allowed"
    POLICIES_DISABLED = "policies_disabled"
    SYSTEM_ACTOR = "system_actor"
    EXPLICIT_DENY = "explicit_deny"
    IMPLICIT_DENY = "implicit_deny"
    NO_COLUMNS = "no_columns"
    PATH_NOT_ALLOWED = "path_not_allowed"
    ACTOR_SUSPENDED = "actor_suspended"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is asking: a user with its groups and roles already resolved.

    `roles` are its own and those of its groups, one hop (rules/datahub.md a.2). `attributes` are the properties that
    are known of it and of what it does in this question, as pairs of field and value (property_conditions).
    """

    urn: str
    groups: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    is_active: bool = True
    attributes: frozenset[tuple[str, str]] = frozenset()

    @property
    def holders(self) -> frozenset[str]:
        """The URNs as which it can own something: itself and its groups."""
        return self.groups | {self.urn}

    @property
    def tokens(self) -> frozenset[str]:
        """Everything an actor clause can name it by, but for ONESELF, which depends on the resource."""
        tokens = self.groups | self.roles | {self.urn, EVERYONE}
        return tokens | {IN_ANY_GROUP} if self.groups else tokens


@dataclass(frozen=True, slots=True)
class StatementOrigin:
    """Where a statement comes from: the policy's URN and name, and the statement's place in its document."""

    policy: str
    name: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """The smallest rule: these actors may (or may not) use these privileges on these resources.

    `privileges` is expanded: wildcards and implications were resolved when the policy was compiled. `subresources`
    applies to each sub-resource of a question; None when the statement does not look at them. It speaks only to actors
    and actions for which every one of its `actor_conditions` holds; a statement with provisos has no restriction.
    """

    origin: StatementOrigin
    effect: Effect
    actors: ActorMatch
    privileges: frozenset[str]
    resources: Selector
    subresources: Selector | None = None
    restriction: Restriction | None = None
    actor_conditions: tuple[ActorCondition, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """May this actor use this privilege on this resource, touching these sub-resources?"""

    actor: Actor
    privilege: str
    resource: Resource | None = None
    subresources: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class MissingPrivilege:
    """A privilege that is lacking, and the entity it is lacking on (None for a platform privilege)."""

    entity: str | None
    privilege: str


class StatementSource(Protocol):
    """Whoever numbered the statements, and can turn a bit set of numbers back into them."""

    def select(self, bits: int) -> tuple[Statement, ...]:
        """Return the statements with these numbers, in the order of their origin."""


class Decision(NamedTuple):
    """The answer: yes or no, because of these statements, under these restrictions, at this policy version.

    `slices` is None when reading is not restricted. `missing` is the shortest list of privileges that would have let a
    refusal pass, `missing_any` all such lists in the order of the requirement (a bounded number). The deciding
    statements are kept as numbers and looked up when somebody reads them, because most callers only want the answer.
    A tuple and not a dataclass, because making a frozen dataclass would be a tenth of the cost of deciding.
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
        """The statements that decided: every matching deny, else every matching allow, in the order of their origin."""
        indexed_statements = self.source.select(self.bits) if self.source is not None and self.bits else ()
        return indexed_statements + self.grants


@dataclass(frozen=True, slots=True)
class Cover:
    """One statement seen from one actor: the entities it reaches, and on which condition about the actor.

    Without condition (`is_unconditional`) it reaches all the selector covers. Otherwise only those of them that the
    actor or one of its groups owns (`is_owned`; `owner_types` None for any type, else the types that count), and the
    actor's own entity (`is_self`).
    """

    statement: Statement
    is_unconditional: bool
    is_owned: bool = False
    owner_types: frozenset[str] | None = None
    is_self: bool = False

    @property
    def selector(self) -> Selector:
        """What the statement covers, before the condition about the actor."""
        return self.statement.resources


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one actor may use one privilege on, as selectors: reached by some of `allows` and by none of `denies`.

    `is_everything` stands for an actor that no policy limits (the system actor, or policies switched off). A suspended
    actor has no allows. `granted_privilege` is the privilege when grants have a say about it too: they are looked up
    where they are kept, as one more allow.
    """

    actor: Actor
    allows: tuple[Cover, ...] = ()
    denies: tuple[Cover, ...] = ()
    version: int = 0
    is_everything: bool = False
    granted_privilege: str = ""
