"""Items as ways see them: the access that a refused question lacks, or a place in a group, or a role."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from policies.engine import families
from policies.engine.families import datazone, vocabulary
from policies.engine.model import Actor, Decision, DecisionCode, Effect, Statement
from policies.engine.requirements import privilege_requirement
from policies.engine.snapshot import Snapshot
from policies.kept_settings import kept_settings
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.request_facts import FactStaging
from policies.requests.held_items import find_lasting

#: Refusals that a change can turn into an allow; of others it is not a matter of privileges.
_CHANGEABLE_CODES = frozenset({DecisionCode.IMPLICIT_DENY, DecisionCode.EXPLICIT_DENY})


class AskedItem(Protocol):
    """An item: something that an actor asks for.

    `places` are the privileges that it is, by entity (None: the platform); none where it is no matter of these.
    """

    @property
    def actor(self) -> Actor:
        """The actor as it is."""

    @property
    def places(self) -> Mapping[str | None, tuple[str, ...]]:
        """The privileges by entity."""

    @property
    def is_changeable(self) -> bool:
        """Whether the actor lacks it, and some change of access could give it."""

    def list_entities(self) -> frozenset[str]:
        """Return the entities that it is about."""

    def is_given(self, actor: Actor, snapshot: Snapshot, stage_facts: FactStaging) -> bool:
        """Whether the actor, as a change leaves it, has it in a snapshot, with facts as the change leaves them."""

    def count_new(self) -> int:
        """Return how many privileges, one on each place, are new by it as such."""


@dataclass(frozen=True, slots=True)
class AskedHolding:
    """A group or role (its URN) that an actor asks to be in, or to hold. All that it gives is beside the item."""

    actor: Actor
    urn: str

    @property
    def places(self) -> Mapping[str | None, tuple[str, ...]]:
        """Nothing: privileges follow from it, and are none of it."""
        return {}

    @property
    def is_changeable(self) -> bool:
        """Whether the actor is active, and not in it already."""
        return self.actor.is_active and self.urn not in self.actor.groups | self.actor.roles

    def list_entities(self) -> frozenset[str]:
        """Return nothing: groups and roles are told as people are."""
        return frozenset()

    def is_given(self, actor: Actor, snapshot: Snapshot, stage_facts: FactStaging) -> bool:  # noqa: ARG002
        """Whether the actor is in the group, or holds the role."""
        return self.urn in actor.groups | actor.roles

    def count_new(self) -> int:
        """Return 0."""
        return 0


@dataclass(frozen=True, slots=True)
class AskedAccess:
    """A question of an actor, with the decision of this moment."""

    actor: Actor
    request: AccessRequest
    decision: Decision

    @classmethod
    def load(cls, *, actor: Actor, request: AccessRequest) -> "AskedAccess":
        """Ask the question. It is neither counted nor logged: nobody acts on the answer."""
        (decision,) = authorizer.decide_staged(requests=[(actor, request)], snapshot=snapshot_store.get_current())
        return cls(actor, request, decision)

    @classmethod
    def load_until(cls, *, actor: Actor, request: AccessRequest, until: datetime | None) -> "AskedAccess":
        """Ask the question as `load`; of an actor who has it but not until this end, as of when that has ended."""
        lasting = find_lasting(actor, request, until)
        if lasting is None:
            return cls.load(actor=actor, request=request)
        later_actor, snapshot = lasting
        (decision,) = authorizer.decide_staged(requests=[(later_actor, request)], snapshot=snapshot)
        return cls(actor, request, decision)

    @property
    def is_changeable(self) -> bool:
        """Whether it is refused, and some change of access could allow it."""
        return self.decision.code in _CHANGEABLE_CODES and bool(self.decision.missing)

    @property
    def denies(self) -> tuple[Statement, ...]:
        """The statements that deny it, if any do."""
        if self.decision.code is not DecisionCode.EXPLICIT_DENY:
            return ()
        return tuple(statement for statement in self.decision.statements if statement.effect is Effect.DENY)

    @property
    def places(self) -> Mapping[str | None, tuple[str, ...]]:
        """The privileges that are missing by entity (None: the platform), by the shortest list that suffices.

        A privilege that is missing on a sub-resource is given on the resource: one statement has to cover the whole
        question.
        """
        privileges_by_place: dict[str | None, list[str]] = defaultdict(list)
        for missing in self.decision.missing:
            is_subresource = self.request.resource is not None and missing.entity in self.request.subresources
            entity = self.request.resource.urn if is_subresource and self.request.resource else missing.entity
            privileges_by_place[entity].append(missing.privilege)
        return {entity: tuple(dict.fromkeys(names)) for entity, names in privileges_by_place.items()}

    def select_places(self, giver: "Giver") -> Mapping[str | None, tuple[str, ...]]:
        """Return the places with those of their privileges that this gives."""
        places = {}
        for entity, names in self.places.items():
            chosen = tuple(name for name in names if find_giver(name, entity) is giver)
            if chosen:
                places[entity] = chosen
        return places

    def list_entities(self) -> frozenset[str]:
        """Return the entity that is asked about, and those on which something is missing."""
        urns = {entity for entity in self.places if entity is not None}
        asked_urn = self.request.resource.urn if self.request.resource is not None else ""
        return frozenset(urns | ({asked_urn} if asked_urn else set()))

    def is_given(self, actor: Actor, snapshot: Snapshot, stage_facts: FactStaging) -> bool:
        """Whether the question is allowed."""
        (decision,) = authorizer.decide_staged(
            requests=[(actor, self.request)], snapshot=snapshot, stage_facts=stage_facts
        )
        return decision.is_allowed

    def count_new(self) -> int:
        """Return how many privileges, one on each place, are new: those that are missing, and what they imply."""
        questions = [
            AccessRequest(privilege_requirement(name), ResourceRef(entity) if entity else None)
            for entity, names in self.places.items()
            for name in sorted(families.widen(names))
        ]
        decisions = authorizer.decide_staged(
            requests=[(self.actor, question) for question in questions], snapshot=snapshot_store.get_current()
        )
        return sum(not decision.is_allowed for decision in decisions)

    @property
    def is_givable(self) -> bool:
        """Whether every missing privilege is one that a policy, a statement or a grant can give one person."""
        return all(find_giver(name, entity) is not None for entity, names in self.places.items() for name in names)


class Giver(StrEnum):
    """The kinds of changes that can give one person a privilege and nothing else."""

    POLICY = "policy"
    STATEMENT = "statement"
    GRANT = "grant"


def find_giver(privilege: str, entity: str | None) -> Giver | None:
    """Return what gives a privilege on an entity (None: the platform) to one person; None: nothing does.

    Statements of Datazone name objects and apply to roles, so that a role of its own comes with each.
    """
    if entity is not None and families.is_granted([privilege]):
        return Giver.GRANT
    if privilege in vocabulary.load_datahub().names or privilege in kept_settings.CUSTOM_PRIVILEGES:
        return Giver.POLICY
    is_action = privilege in families.load_vocabularies()[datazone.NAME].names
    return Giver.STATEMENT if is_action and entity is not None else None
