"""A refusal that grants would mend: for each pair that is missing, what is held there and who could give the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.engine import families
from policies.engine.explain import Lack, NameOf, Near, Part, sentence
from policies.engine.model import Actor, Code, Decision, Missing, Statement
from policies.engine.ports import Grants


@dataclass(frozen=True, slots=True)
class Ungranted:
    """A privilege that the actor was not granted on an entity, not yet in words.

    `held` are the privileges it has there, `grantors` who could give this one (none when that is not known), and
    `lacking` how many pairs the same question lacks.
    """

    actor: str
    entity: str
    privilege: str
    held: tuple[str, ...]
    grantors: tuple[str, ...]
    lacking: int

    def worded(self, name_of: NameOf) -> Near:
        """Return what is held there already, what is lacking and who could give it, in words."""
        who, what = name_of(self.actor), f"the {kind_of(self.entity)} {name_of(self.entity)}"
        origin = families.grant_origin()
        lack = Lack(
            part=Part.ACTOR,
            sentence=sentence([f"{who} does not hold {self.privilege} on {what}"]),
            remedy=Missing(self.entity, families.granting()),
            who=tuple((urn, name_of(urn)) for urn in self.grantors),
        )
        return Near(
            policy=origin.policy,
            name=origin.name,
            statement=origin.index,
            effect="allow",
            because=sentence([f"{who} holds {', '.join(self.held)} on it"] if self.held else []),
            lacks=(lack,),
        )


def pairs(decision: Decision) -> tuple[Missing, ...]:
    """Return the pairs of a refusal that a grant would mend; none when a deny stands in the way."""
    if decision.is_allowed or decision.code is not Code.IMPLICIT_DENY:
        return ()
    return tuple(lack for lack in decision.missing if lack.entity and families.is_granted([lack.privilege]))


def ungranted(
    decision: Decision, actor: Actor, grants: Grants, grantors: Mapping[str, Sequence[str]]
) -> tuple[Ungranted, ...]:
    """Return what was not granted, in the order in which it is missing.

    `grants` are all grants that reach the entities in question, and `grantors` those who could give more, both by the
    entity; an entity is left out of `grantors` where the actor may not be told who they are.
    """
    return tuple(
        Ungranted(
            actor=actor.urn,
            entity=lack.entity or "",
            privilege=lack.privilege,
            held=held(actor, grants.get(lack.entity or "", {})),
            grantors=tuple(grantors.get(lack.entity or "", ())),
            lacking=len(decision.missing),
        )
        for lack in pairs(decision)
    )


def held(actor: Actor, grants: Mapping[str, Sequence[Statement]]) -> tuple[str, ...]:
    """Return the privileges that the grants on one entity, by their holder, give an actor, in their own order."""
    mine = [one for holder in actor.holders | actor.roles for one in grants.get(holder, ())]
    return families.in_order(frozenset[str]().union(*(one.privileges for one in mine)))


def kind_of(urn: str) -> str:
    """Return the type that a URN names; what is no URN is an entity."""
    return urn.split(":", 3)[2] if urn.count(":") > 2 else "entity"
