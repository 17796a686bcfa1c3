"""The privileges of an actor on one resource, with the policies that give each."""

from dataclasses import dataclass

from policies.engine import families
from policies.engine.families.datazone_resource_patterns import check_question
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.engine.model import Actor, DecisionCode
from policies.engine.requirements import privilege_requirement
from policies.pdp import authorizer, explanations
from policies.pdp.access_requests import AccessRequest, ResourceRef


@dataclass(frozen=True, slots=True)
class EffectivePrivilege:
    """A privilege of an actor, its family, and the policies that give it, as (URN, name)."""

    family: str
    privilege: PrivilegeInfo
    policies: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class EffectivePrivileges:
    """The privileges of an actor on one resource; `code` and `version` are those of the first decision."""

    code: DecisionCode
    privileges: tuple[EffectivePrivilege, ...]
    version: int


def list_effective_privileges(*, actor: Actor, resource: ResourceRef | None) -> EffectivePrivileges:
    """Return every privilege of every family that an actor has on a resource (None: on the platform).

    Without actions of Datazone's that are about another type: a question about these is refused.
    The decisions are those of `authorizer.answer_many`: grants, implicit policies and disabled policies count. Raises
    what that raises.
    """
    resource_type = "" if resource is None else explanations.find_type(resource.urn)
    registered = [
        (name, info)
        for name, family in families.load_vocabularies().items()
        for info in family.privileges.values()
        if resource is None or check_question(info.name, resource_type, "") is None
    ]
    decisions = authorizer.answer_many(
        requests=[(actor, AccessRequest(privilege_requirement(info.name), resource)) for _, info in registered]
    )
    privileges = []
    for (name, info), decision in zip(registered, decisions, strict=True):
        if decision.is_allowed:
            origins = dict.fromkeys(
                (statement.origin.policy, statement.origin.name) for statement in decision.statements
            )
            privileges.append(EffectivePrivilege(name, info, tuple(origins)))
    return EffectivePrivileges(decisions[0].code, tuple(privileges), decisions[0].version)
