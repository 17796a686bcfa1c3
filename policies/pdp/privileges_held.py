"""Everything somebody may do with one thing, and the policies that give it."""

from dataclasses import dataclass

from policies.engine import families
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.engine.model import Actor, Code
from policies.engine.requirements import one
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked


@dataclass(frozen=True, slots=True)
class Holding:
    """A privilege that somebody has, of which family, and the policies that give it: URN and name of each."""

    family: str
    privilege: PrivilegeInfo
    policies: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What somebody may do; `code` tells what every answer rests on when that is not policies."""

    code: Code
    holdings: tuple[Holding, ...]
    version: int


def held(*, actor: Actor, asked: Asked | None) -> Holdings:
    """Return every privilege of every family that an actor has on a resource (None: on the platform).

    The answers are those of `authority.answer_many`: grants, implicit policies and switched-off policies count. Raises
    what that raises.
    """
    known = [(name, info) for name, family in families.vocabularies().items() for info in family.privileges.values()]
    decisions = authorizer.answer_many(asks=[(actor, Ask(one(info.name), asked)) for _, info in known])
    holdings = []
    for (name, info), decision in zip(known, decisions, strict=True):
        if decision.is_allowed:
            origins = dict.fromkeys((each.origin.policy, each.origin.name) for each in decision.statements)
            holdings.append(Holding(name, info, tuple(origins)))
    return Holdings(decisions[0].code, tuple(holdings), decisions[0].version)
