"""Granting and revoking privileges on one entity or on a pattern of URNs (rules/cdap.md CD-18, CD-19)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from django.utils import timezone

from catalog.access import grant_source
from catalog.access.grant_rows import instance_administrators
from catalog.access.grant_source import Grant
from catalog.cdap import grant_times
from catalog.cdap.grant_requests import GrantRequest, resolve_requests
from catalog.models import ScheduledGrant
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.families.validity import UNLIMITED, Phase, Validity
from policies.engine.model import Actor
from policies.errors import Conflict
from policies.models import Verb
from policies.models.event import CLOCK_CHANNEL
from policies.models.people import MAX_NAME_LENGTH
from policies.models.writes import WriteTransaction, announce_boundaries
from policies.pdp import authorizer, database_clock
from policies.writes.timed_holders import check_validity
from policies.writes.unit_of_work import UnitOfWork, open_unit_of_work
from policies.writes.validation import Checks


def grant(*, requests: Sequence[GrantRequest], by: Actor, channel: str) -> list[Grant]:
    """Grant privileges, all or nothing, now or from a time on; return the grants in order.

    Needs ADMIN on each entity, or instance administration. Raises Forbidden with everything that is missing, and
    Invalid for unknown principals and entities (pointers `/<index>/<field>`).
    """
    with open_unit_of_work(by=by, channel=channel) as uow:
        now = database_clock.get_now()
        new_grants = check_grants(requests, by=by, now=now)
        grants_by_times: dict[tuple[Validity | None, str], list[Grant]] = {}
        for request, new_grant in zip(requests, new_grants, strict=True):
            grants_by_times.setdefault((request.validity, request.reason), []).append(new_grant)
        for (validity, reason), timed_grants in grants_by_times.items():
            if validity is not None and validity.find_phase(now) is Phase.PENDING:
                grant_times.store_scheduled(grants=timed_grants, validity=validity, reason=reason, uow=uow)
                continue
            _write_grants(timed_grants, by=by, uow=uow, validity=validity or UNLIMITED)
            grant_times.delete_scheduled(grants=timed_grants)
            if validity is not None:
                grant_times.set_times(grants=timed_grants, validity=validity, reason=reason, uow=uow)
    return new_grants


def revoke(*, requests: Sequence[GrantRequest], by: Actor, channel: str) -> None:
    """Revoke privileges, all or nothing; missing ones are ignored. Needs and raises the same as `grant`.

    Some principal must keep ADMIN on each entity: raises Conflict unless confirmed, and then its ADMIN passes to the
    instance administrators (CD-19). Grants from the settings cannot be revoked: Conflict (CD-18).
    """
    with open_unit_of_work(by=by, channel=channel) as uow:
        revoked_grants = check_revocations(requests, by=by)
        previous = grant_source.load_privileges(pairs=_grant_pairs(revoked_grants))
        affected_urns = find_admin_losses(revoked_grants, previous)
        grant_source.delete_grants(grants=revoked_grants)
        unadministered_urns = grant_source.list_unadministered(urns=affected_urns)
        unconfirmed_urns = sorted(
            unadministered_urns
            & find_admin_losses(revoked_grants, previous, [request.is_confirmed for request in requests])
        )
        if unconfirmed_urns:
            raise Conflict(describe_last_admin(unconfirmed_urns))
        _audit_changes(previous, uow=uow)
        grant_times.cancel_scheduled(grants=revoked_grants, uow=uow)
        _hand_over(sorted(unadministered_urns), by=by, uow=uow)


def check_grants(requests: Sequence[GrantRequest], *, by: Actor, now: datetime) -> list[Grant]:
    """Check that these may be granted, and return them as grants to store. Raises as `grant`."""
    new_grants = resolve_requests(requests, by=by)
    _refuse_problems_of_times(requests, new_grants, now)
    return new_grants


def check_revocations(requests: Sequence[GrantRequest], *, by: Actor) -> list[Grant]:
    """Check that these may be revoked, but for the last ADMIN, and return them as grants. Raises as `revoke`."""
    revoked_grants = resolve_requests(requests, by=by)
    _refuse_setting_grants(revoked_grants)
    return revoked_grants


class GrantDueChanges:
    """Grants as a source of due changes (`policies.pdp.due_changes`)."""

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:  # noqa: ARG002 - the unit of work joins it
        """End the grants that are over and begin those that are scheduled.

        An entity that loses its last ADMIN passes to the instance administrators, as by a confirmed revoke.
        """
        ended_grants = grant_times.list_ended(now=now)
        if not ended_grants and not ScheduledGrant.objects.filter(valid_from__lte=now).exists():
            return
        with open_unit_of_work(by=authorizer.SYSTEM, channel=CLOCK_CHANNEL) as uow:
            previous = grant_source.load_privileges(pairs=_grant_pairs(ended_grants))
            affected_urns = find_admin_losses(ended_grants, previous)
            grant_source.delete_grants(grants=ended_grants)
            _audit_changes(previous, uow=uow)
            for begun_grant, validity, _, grantor in grant_times.begin_due(uow=uow, now=now):
                _write_grants([begun_grant], by=Actor(grantor), uow=uow, validity=validity)
            unadministered_urns = grant_source.list_unadministered(urns=affected_urns)
            _hand_over(sorted(unadministered_urns), by=authorizer.SYSTEM, uow=uow)

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest times at which a grant begins or ends."""
        return grant_times.list_boundaries()


@contextmanager
def reassign_sole_grants(*, urn: str, uow: UnitOfWork) -> Iterator[None]:
    """Pass the ADMIN of a user, group or role that can no longer act to the instance administrators (CD-19).

    A hook of every change that ends or suspends a principal (the registry `departure_hooks`): entities without another
    administrator are handed over as by a confirmed revoke.
    """
    affected_urns = grant_source.list_administered(holder=urn)
    yield
    _hand_over(sorted(grant_source.list_unadministered(urns=affected_urns)), by=uow.by, uow=uow)


def _refuse_setting_grants(revoked_grants: Sequence[Grant]) -> None:
    """Raise Conflict for grants that come from the settings."""
    administrators = instance_administrators()
    if setting_administrators := [
        grant.principal
        for grant in revoked_grants
        if grant.entity == INSTANCE_URN and grant.principal in administrators
    ]:
        raise Conflict(
            f"The settings make {setting_administrators[0]} an administrator of the instance; "
            "it cannot be taken away here."
        )


def find_admin_losses(
    revoked_grants: Sequence[Grant],
    previous: Mapping[tuple[str, str], Collection[str]],
    exclusions: Sequence[bool] = (),
) -> frozenset[str]:
    """Return the entities on which a principal is about to lose ADMIN, including those that a pattern matches.

    Entities named by a grant whose flag in `exclusions` is set are left out.
    """
    flags = exclusions or [False] * len(revoked_grants)
    affected_urns: set[str] = set()
    excluded_urns: set[str] = set()
    for grant, is_excluded in zip(revoked_grants, flags, strict=True):
        if cdap.ADMIN not in grant.privileges or cdap.ADMIN not in previous[grant.principal, grant.entity]:
            continue
        pattern = cdap_entity_ids.parse_pattern(grant.entity)
        urns = [grant.entity] if pattern is None else grant_source.list_matching_entities(pattern=pattern)
        (excluded_urns if is_excluded else affected_urns).update(urns)
    return frozenset(affected_urns - excluded_urns)


def describe_last_admin(urns: Sequence[str]) -> str:
    """Return the sentence that refuses to take the last ADMIN of entities."""
    suffix = f" and {len(urns) - 1} more" if len(urns) > 1 else ""
    return (
        f"Nobody would hold ADMIN on {urns[0]}{suffix}. "
        'With "confirm": true it falls to the administrators of the instance.'
    )


def _hand_over(unadministered_urns: Sequence[str], *, by: Actor, uow: UnitOfWork) -> None:
    """Grant ADMIN on these to the instance administrators that exist as user, group or role."""
    administrators = sorted(grant_source.load_principal_columns(urns=instance_administrators()))
    _write_grants(
        [Grant(administrator, urn, (cdap.ADMIN,)) for urn in unadministered_urns for administrator in administrators],
        by=by,
        uow=uow,
    )


def _refuse_problems_of_times(requests: Sequence[GrantRequest], new_grants: Sequence[Grant], now: datetime) -> None:
    """Raise Invalid with every problem of times; what is held already does not begin later."""
    checks = Checks()
    held_privileges = grant_source.load_privileges(pairs=_grant_pairs(new_grants))
    for index, (request, new_grant) in enumerate(zip(requests, new_grants, strict=True)):
        if request.validity is None:
            continue
        check_validity(checks, request.validity, pointer=f"/{index}", now=now)
        held_names = set(new_grant.privileges).intersection(held_privileges[new_grant.principal, new_grant.entity])
        if held_names and request.validity.find_phase(now) is Phase.PENDING:
            detail = f"{', '.join(cdap.expand(held_names))} is held already; revoke it before it can begin later."
            checks.add("validity.held", f"/{index}/valid_from", detail)
    checks.finish()


def _write_grants(new_grants: Sequence[Grant], *, by: Actor, uow: UnitOfWork, validity: Validity = UNLIMITED) -> None:
    previous = grant_source.load_privileges(pairs=_grant_pairs(new_grants))
    grant_source.insert_grants(grants=new_grants, by=by.urn, at=timezone.now(), validity=validity)
    announce_boundaries(validity.list_boundaries(Phase.CURRENT))
    _audit_changes(previous, uow=uow)


def _audit_changes(previous: Mapping[tuple[str, str], tuple[str, ...]], *, uow: UnitOfWork) -> None:
    """Audit the privileges before and after for each principal and entity where they differ."""
    current = grant_source.load_privileges(pairs=previous.keys())
    for (principal, entity), old_privileges in previous.items():
        if current[principal, entity] != old_privileges:
            states = [
                {"principal": principal, "privileges": list(privileges)}
                for privileges in (old_privileges, current[principal, entity])
            ]
            name = entity[:MAX_NAME_LENGTH]
            uow.audit(urn=entity, name=name, verb=Verb.UPDATED, before=states[0], after=states[1])


def _grant_pairs(some_grants: Iterable[Grant]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((grant.principal, grant.entity) for grant in some_grants))
