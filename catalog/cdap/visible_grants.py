"""Grants and patterns as an actor may see them: those on entities on which it holds ADMIN."""

from dataclasses import dataclass
from typing import Any

from catalog.access import coverage_sql, grant_source
from catalog.access.timed_grants import TimedGrantList
from catalog.cdap import grant_queries
from catalog.cdap.grant_requests import find_missing, may_grant_anywhere, normalize_entity
from catalog.models import Entity
from policies.engine.families import cdap
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapPattern
from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Forbidden
from policies.pdp import authorizer

#: Maximum count of the entities that a pattern matches, and number of those named.
_MAX_COUNT = 1000
_SAMPLE_SIZE = 5


@dataclass(frozen=True, slots=True)
class PatternExtent:
    """The entities that a pattern matches now: their number (`is_more`: a lower bound) and the names of the first."""

    pattern: str
    count: int
    is_more: bool
    names: tuple[str, ...]


def list_grants(*, entity: str, principal: str, by: Actor) -> grant_source.GrantList:
    """Return the grants that count now and that an actor may see: those on entities on which it holds ADMIN.

    An instance administrator sees all. Raises Forbidden when the actor may not see those of the entity in the filter.
    """
    return grant_source.GrantList(**_choose_visible(entity, principal, by))


def list_timed_grants(*, entity: str, principal: str, by: Actor) -> TimedGrantList:
    """Return the grants of `list_grants` with their times, and those that have not begun."""
    return TimedGrantList(**_choose_visible(entity, principal, by))


def measure_extent(*, pattern: CdapPattern, by: Actor) -> PatternExtent:
    """Return the extent of a pattern now. Raises Forbidden unless the actor may grant on it."""
    if not may_grant_anywhere(by) and (missing_privileges := find_missing([pattern.urn], by=by)):
        raise Forbidden(missing_privileges)
    count, names = grant_queries.sample_matching_entities(
        pattern=pattern, sample_size=_SAMPLE_SIZE, limit=_MAX_COUNT + 1
    )
    return PatternExtent(pattern.urn, min(count, _MAX_COUNT), count > _MAX_COUNT, tuple(names))


def _choose_visible(entity: str, principal: str, by: Actor) -> dict[str, Any]:
    """Return the arguments that narrow a list of grants to those that an actor may see."""
    name = normalize_entity(entity) if entity else ""
    if is_all := may_grant_anywhere(by):
        rows = Entity.objects.all()
    else:
        rows = coverage_sql.filter_covered(authorizer.compute_coverage(actor=by, privilege=cdap.ADMIN))
    patterns = grant_source.list_patterns(entity=name, principal=principal)
    if not is_all:
        missing_urns = {
            missing_privilege.entity
            for missing_privilege in find_missing([name, *patterns] if name else patterns, by=by)
        }
        if name in missing_urns and name:
            raise Forbidden((MissingPrivilege(name, cdap.ADMIN),))
        patterns = [urn for urn in patterns if urn not in missing_urns]
    if name:
        rows = rows.filter(urn__among=[name])
    shows_instance = name in ("", INSTANCE_URN) and (is_all or not find_missing([INSTANCE_URN], by=by))
    is_limited = bool(name) or not is_all
    return {
        "entities": rows if is_limited else None,
        "patterns": patterns,
        "principal": principal,
        "with_instance": shows_instance,
    }
