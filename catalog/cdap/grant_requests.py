"""Requests for grants and revocations: what they name, and who may make them (rules/cdap.md CD-18)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from catalog import urns as catalog_urns
from catalog.access import grant_source
from catalog.access.grant_rows import is_instance_administrator
from catalog.access.grant_source import Grant
from catalog.models import Entity
from policies.engine.errors import Problem
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.families.validity import Validity
from policies.engine.model import Actor, MissingPrivilege
from policies.engine.requirements import privilege_requirement
from policies.errors import Forbidden, Invalid
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Maximum number of grants in one call.
MAX_GRANTS = 1000

_UNKNOWN_CODE = "entity.unknown"


@dataclass(frozen=True, slots=True)
class GrantRequest:
    """A grant to add or revoke, as received: `privileges` may contain ALL; None means all of the principal's.

    `is_confirmed` lets the last ADMIN of an entity pass to the instance administrators. A `validity` sets the times of
    the grant; None leaves those of an existing one as they are.
    """

    principal: str
    entity: str
    privileges: tuple[str, ...] | None = None
    is_confirmed: bool = False
    validity: Validity | None = None
    reason: str = ""


def resolve_requests(requests: Sequence[GrantRequest], *, by: Actor) -> list[Grant]:
    """Return the requests as grants to store; Forbidden precedes checks that show which entities exist."""
    if len(requests) > MAX_GRANTS:
        raise Invalid.from_problem(
            code="list.too_long", pointer="", detail=f"At most {MAX_GRANTS} grants may be sent at once."
        )
    resolved_grants = [
        Grant(grant.principal, normalize_entity(grant.entity), cdap.expand(grant.privileges or (cdap.ALL,)))
        for grant in requests
    ]
    if not may_grant_anywhere(by) and (
        missing_privileges := find_missing([grant.entity for grant in resolved_grants], by=by)
    ):
        raise Forbidden(missing_privileges)
    if problems := _find_problems(resolved_grants):
        raise Invalid(problems)
    return resolved_grants


def may_grant_anywhere(by: Actor) -> bool:
    """Whether the actor may grant on everything: the system, and who administers the instance."""
    return by.urn == authorizer.SYSTEM.urn or is_instance_administrator(by)


def find_missing(urns: Sequence[str], *, by: Actor) -> tuple[MissingPrivilege, ...]:
    """Return the ADMIN that the actor lacks on these entities and patterns."""
    access_requests = [
        AccessRequest(privilege_requirement(cdap.ADMIN), ResourceRef(urn, catalog_urns.entity_type(urn)))
        for urn in dict.fromkeys(urns)
    ]
    return authorizer.find_missing_privileges(by=by, requests=access_requests) if access_requests else ()


def filter_grantable(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the entities and patterns on which the actor may grant and revoke."""
    if may_grant_anywhere(by):
        return frozenset(urns)
    return frozenset(urns) - {missing_privilege.entity for missing_privilege in find_missing(sorted(urns), by=by)}


def normalize_entity(entity: str) -> str:
    """Return an entity without a version (CD-20), and a pattern as its URN."""
    if (pattern := cdap_entity_ids.parse_pattern(entity)) is not None:
        return pattern.urn
    name = cdap_entity_ids.parse(entity)
    return entity if name is None else name.urn


def _find_problems(resolved_grants: Sequence[Grant]) -> list[Problem]:
    principals = grant_source.load_principal_columns(urns=[grant.principal for grant in resolved_grants])
    patterns = {grant.entity: cdap_entity_ids.parse_pattern(grant.entity) for grant in resolved_grants}
    target_urns = {pattern.container if pattern is not None else urn for urn, pattern in patterns.items()}
    existing_urns = set(Entity.objects.filter(urn__among=target_urns).order_by().values_list("urn", flat=True))
    existing_urns -= {urn for urn in existing_urns if catalog_urns.entity_type(urn) in catalog_urns.PEOPLE_TYPES}
    problems: list[Problem] = []
    for index, grant in enumerate(resolved_grants):
        if grant.principal not in principals:
            detail = f"There is no user, group or role {grant.principal}."
            problems.append(Problem(_UNKNOWN_CODE, f"/{index}/principal", detail))
        pattern = patterns[grant.entity]
        target_urn = grant.entity if pattern is None else pattern.container
        if target_urn not in existing_urns and not (pattern is not None and target_urn == INSTANCE_URN):
            problems.append(Problem(_UNKNOWN_CODE, f"/{index}/entity", f"There is no entity {target_urn}."))
    return problems
