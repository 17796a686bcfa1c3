"""Grants that begin or end at a time: what is stored of them, and what is written when they come due."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from catalog.access import grant_source
from catalog.access.grant_rows import select_grants, select_scheduled_grants
from catalog.access.grant_source import Grant
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, ScheduledGrant, WildcardGrant
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.families.validity import Phase, Validity
from policies.models import Verb
from policies.models.people import MAX_NAME_LENGTH
from policies.models.timed_rows import TimedRow
from policies.models.writes import announce_boundaries
from policies.writes.timed_holders import describe_times
from policies.writes.timed_writes import find_time_obstacle, list_next_boundaries, prepare_scheduled_columns
from policies.writes.unit_of_work import UnitOfWork

_ROW_MODELS: tuple[type[TimedRow], ...] = (EntityUserGrant, EntityGroupGrant, WildcardGrant)


def set_times(*, grants: Collection[Grant], validity: Validity, reason: str, uow: UnitOfWork) -> None:
    """Set the times of the rows of grants that count now."""
    announce_boundaries(validity.list_boundaries(Phase.CURRENT))
    instants = {"valid_from": validity.begins, "valid_until": validity.ends}
    names = _collect_privileges(grants)
    changed_pairs: set[tuple[str, str]] = set()
    for rows, model in zip(select_grants({holder for holder, _ in names}), _ROW_MODELS, strict=True):
        rows_of_sources = rows.filter(source__in=[source for _, source in names]).exclude(**_match_exactly(instants))
        changed_rows = [
            (key, (holder, source))
            for key, holder, source, privilege in rows_of_sources.values_list("pk", "holder", "source", "granted")
            if privilege in names.get((holder, source), ())
        ]
        model._default_manager.filter(pk__in=[key for key, _ in changed_rows]).update(**instants)
        changed_pairs |= {pair for _, pair in changed_rows}
    for grant in grants:
        if (grant.principal, grant.entity) in changed_pairs:
            _record(grant, before={}, after={"times": describe_times(validity, reason)}, uow=uow)


def store_scheduled(*, grants: Collection[Grant], validity: Validity, reason: str, uow: UnitOfWork) -> None:
    """Store grants that have not begun, in place of those that have not begun either."""
    replaced_names = delete_scheduled(grants=grants)
    holders = grant_source.load_principal_columns(urns=[grant.principal for grant in grants])
    columns = prepare_scheduled_columns(validity, reason=reason, uow=uow)
    names = _collect_privileges(grants)
    ScheduledGrant.objects.bulk_create(
        ScheduledGrant(
            **holders[principal], target=target, within=_find_container(target), privilege=privilege, **columns
        )
        for (principal, target), privileges in names.items()
        for privilege in cdap.expand(privileges)
    )
    for pair, privileges in names.items():
        grant = Grant(*pair, cdap.expand(privileges))
        before = {"scheduled": list(cdap.expand(replaced_names.get(pair, ())))}
        after = {"scheduled": list(grant.privileges), "times": describe_times(validity, reason)}
        _record(grant, before=before, after=after, uow=uow)


def cancel_scheduled(*, grants: Collection[Grant], uow: UnitOfWork) -> None:
    """Delete, with an event each, the grants of these privileges that have not begun."""
    for pair, privileges in delete_scheduled(grants=grants).items():
        cancelled_grant = Grant(*pair, cdap.expand(privileges))
        before = {"scheduled": list(cancelled_grant.privileges)}
        _record(cancelled_grant, before=before, after={"scheduled": []}, uow=uow)


def delete_scheduled(*, grants: Collection[Grant]) -> dict[tuple[str, str], set[str]]:
    """Delete the grants of these privileges that have not begun; return them as (principal, target) → privileges."""
    names = _collect_privileges(grants)
    rows = ScheduledGrant.objects.filter(target__among=sorted({target for _, target in names}))
    found_rows = select_scheduled_grants(rows=rows).values_list("pk", "holder", "target", "privilege")
    deleted_names: dict[tuple[str, str], set[str]] = defaultdict(set)
    deleted_ids: list[int] = []
    for key, holder, target, privilege in found_rows:
        if privilege in names.get((holder, target), ()):
            deleted_names[holder, target].add(privilege)
            deleted_ids.append(key)
    if deleted_ids:
        ScheduledGrant.objects.filter(pk__in=deleted_ids).delete()
    return deleted_names


def list_ended(*, now: datetime) -> list[Grant]:
    """Return the grants that are over."""
    privileges: dict[tuple[str, str], set[str]] = defaultdict(set)
    for rows in select_grants():
        for holder, source, privilege in rows.filter(valid_until__lte=now).values_list("holder", "source", "granted"):
            privileges[holder, source].add(privilege)
    return [Grant(*pair, cdap.expand(names)) for pair, names in sorted(privileges.items())]


def begin_due(*, uow: UnitOfWork, now: datetime) -> list[tuple[Grant, Validity, str, str]]:
    """Delete the scheduled grants whose time has come and return those that begin, each with times, reason and grantor.

    One that had ended before, or whose principal or entity is gone, does not begin, and an event says so.
    """
    due_rows = select_scheduled_grants().filter(valid_from__lte=now)
    begun: dict[tuple[str, str, Validity, str, str], set[str]] = defaultdict(set)
    for row in due_rows.order_by("pk"):
        begun[row.holder, row.target, row.validity, row.reason, row.created_by].add(row.privilege)
    ScheduledGrant.objects.filter(valid_from__lte=now).delete()
    principals = grant_source.load_principal_columns(urns=[holder for holder, *_ in begun if holder])
    entities = _list_existing([target for _, target, *_ in begun])
    beginning: list[tuple[Grant, Validity, str, str]] = []
    for (holder, target, validity, reason, by), names in begun.items():
        grant = Grant(holder or "", target, cdap.expand(names))
        if because := _find_obstacle(grant, validity, now, principals, entities):
            before = {"scheduled": list(grant.privileges), "times": describe_times(validity, reason)}
            _record(grant, before=before, after={"dropped": because}, uow=uow)
        else:
            announce_boundaries(validity.list_boundaries(Phase.CURRENT))
            beginning.append((grant, validity, reason, by))
    return beginning


def list_boundaries() -> Iterable[datetime]:
    """Return the earliest ends of grants and the earliest beginning of a scheduled one, if there are any."""
    return list_next_boundaries(_ROW_MODELS, ScheduledGrant)


def _find_obstacle(
    grant: Grant, validity: Validity, now: datetime, principals: Mapping[str, object], entities: Collection[str]
) -> str:
    if because := find_time_obstacle(validity, now):
        return because
    if grant.principal not in principals:
        return "The principal is removed."
    return "" if grant.entity in entities else "The entity is gone."


def _list_existing(targets: Sequence[str]) -> frozenset[str]:
    """Return those of these entities, and of the patterns in an entity, that exist."""
    containers = {target: _find_container(target) for target in targets}
    rows = Entity.objects.filter(urn__among=sorted(set(containers.values()))).order_by()
    known_urns = {*rows.values_list("urn", flat=True), INSTANCE_URN}
    return frozenset(target for target, container in containers.items() if container in known_urns)


def _collect_privileges(grants: Iterable[Grant]) -> dict[tuple[str, str], set[str]]:
    """Return (principal, entity or pattern) → the privileges of these grants."""
    names: dict[tuple[str, str], set[str]] = defaultdict(set)
    for grant in grants:
        names[grant.principal, grant.entity].update(grant.privileges)
    return names


def _find_container(target: str) -> str:
    """Return the entity with which a grant on this entity or pattern is deleted."""
    pattern = cdap_entity_ids.parse_pattern(target)
    return target if pattern is None else pattern.container


def _record(grant: Grant, *, before: Mapping[str, object], after: Mapping[str, object], uow: UnitOfWork) -> None:
    principal = {"principal": grant.principal}
    uow.audit(
        urn=grant.entity,
        name=grant.entity[:MAX_NAME_LENGTH],
        verb=Verb.UPDATED,
        before=principal | dict(before),
        after=principal | dict(after),
    )


def _match_exactly(instants: Mapping[str, datetime | None]) -> dict[str, object]:
    """Return the condition that columns hold these times, or none."""
    return {
        f"{name}__isnull" if instant is None else name: True if instant is None else instant
        for name, instant in instants.items()
    }
