"""Missing grants of a refusal: for each missing pair, the privileges held there and the actors who can grant it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from policies.engine import families
from policies.engine.explain import NameOf
from policies.engine.model import Actor, Decision, DecisionCode, MissingPrivilege, Statement
from policies.engine.near_misses import ConditionPart, FailedCondition, NearMatch
from policies.engine.ports import GrantsByEntity
from policies.engine.wording import join_clauses, word_time


@dataclass(frozen=True, slots=True)
class MissingGrant:
    """A privilege that the actor was not granted on an entity, not yet worded.

    `held_privileges` are the actor's privileges on the entity, `grantors` the actors who could grant this one (empty if
    not known), and `missing_count` the number of pairs that the question lacks. `ended_at` is when a grant of it to the
    actor last ended by itself.
    """

    actor: str
    entity: str
    privilege: str
    held_privileges: tuple[str, ...]
    grantors: tuple[str, ...]
    missing_count: int
    ended_at: datetime | None = None
    is_last_resort: ClassVar[bool] = False

    def to_near_match(self, name_of: NameOf) -> NearMatch:
        """Return the privileges held on the entity, the missing one, and the actors who could grant it, worded."""
        actor_name, resource_name = name_of(self.actor), f"the {urn_type(self.entity)} {name_of(self.entity)}"
        origin = families.grant_origin()
        failed_condition = FailedCondition(
            part=ConditionPart.ACTOR,
            sentence=join_clauses([f"{actor_name} does not hold {self.privilege} on {resource_name}"]),
            remedy=MissingPrivilege(self.entity, families.admin_privilege()),
            remedy_actors=tuple((urn, name_of(urn)) for urn in self.grantors),
        )
        ended_conditions = (
            (
                replace(
                    failed_condition, part=ConditionPart.TIME, sentence=f"A grant ended on {word_time(self.ended_at)}."
                ),
            )
            if self.ended_at is not None
            else ()
        )
        return NearMatch(
            policy=origin.policy,
            name=origin.name,
            statement=origin.index,
            effect="allow",
            explanation=join_clauses(
                [f"{actor_name} holds {', '.join(self.held_privileges)} on it"] if self.held_privileges else []
            ),
            failed_conditions=(*ended_conditions, failed_condition),
        )


def grantable_pairs(decision: Decision) -> tuple[MissingPrivilege, ...]:
    """Return the (entity, privilege) pairs of a refusal that a grant would provide; none if a deny decided."""
    if decision.is_allowed or decision.code is not DecisionCode.IMPLICIT_DENY:
        return ()
    return tuple(
        missing_privilege
        for missing_privilege in decision.missing
        if missing_privilege.entity and families.is_granted([missing_privilege.privilege])
    )


def list_missing_grants(
    decision: Decision, actor: Actor, grants: GrantsByEntity, grantors: Mapping[str, Sequence[str]]
) -> tuple[MissingGrant, ...]:
    """Return the missing grants, in the order of `decision.missing`.

    `grants` are all grants that reach the entities in question, and `grantors` the actors who could grant more, both by
    entity URN; an entity is left out of `grantors` if the actor may not learn who they are.
    """
    return tuple(
        MissingGrant(
            actor=actor.urn,
            entity=missing_privilege.entity or "",
            privilege=missing_privilege.privilege,
            held_privileges=actor_privileges(actor, grants.get(missing_privilege.entity or "", {})),
            grantors=tuple(grantors.get(missing_privilege.entity or "", ())),
            missing_count=len(decision.missing),
        )
        for missing_privilege in grantable_pairs(decision)
    )


def actor_privileges(actor: Actor, grants: Mapping[str, Sequence[Statement]]) -> tuple[str, ...]:
    """Return the privileges that an actor has through the grants on one entity, by holder URN, in display order."""
    actor_grants = [grant for holder in actor.holders | actor.roles for grant in grants.get(holder, ())]
    return families.sort_privileges(frozenset[str]().union(*(grant.privileges for grant in actor_grants)))


def urn_type(urn: str) -> str:
    """Return the entity type of a URN; `entity` if the text is no URN."""
    return urn.split(":", 3)[2] if urn.count(":") > 2 else "entity"
