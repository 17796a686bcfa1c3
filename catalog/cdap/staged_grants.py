"""Grants as changes would leave them; each change is checked by what its write checks, and nothing is stored."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.conf import settings

from catalog.access import grant_source
from catalog.access.grant_rows import instance_administrators
from catalog.access.grant_source import Grant
from catalog.cdap import grant_requests, grant_services
from catalog.cdap.grant_requests import GrantRequest
from policies.engine.errors import Problem
from policies.engine.families import cdap
from policies.engine.model import Actor, Statement
from policies.errors import Conflict, Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

_StatementsByPolicy = Mapping[str, tuple[Statement, ...]]
_Privileges = Mapping[tuple[str, str], Collection[str]]


class StagedGrants:
    """`policies.pdp.ports.GrantStage`: the changes so far; a later one wins over an earlier one."""

    def __init__(self, by: Actor) -> None:
        self._by = by
        #: After the changes: whether the holder has the privilege on the entity or pattern.
        self._changes: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
        self._departed: set[str] = set()

    def grant(self, *, principal: str, entity: str, privileges: Sequence[str]) -> None:
        """Grant privileges. Raises as `grant_services.grant`."""
        self._stage(self._resolve(principal, entity, privileges), is_granted=True)

    def revoke(
        self, *, principal: str, entity: str, privileges: Sequence[str] | None = None, is_confirmed: bool = False
    ) -> None:
        """Revoke privileges, or all of the principal's. Raises as `grant_services.revoke`."""
        grant = self._resolve(principal, entity, privileges)
        grant_services.refuse_setting_grants([grant])
        previous = self._apply(grant_source.load_grants(holders=[principal]))
        affected_urns = grant_services.find_admin_losses(
            [grant], {(principal, grant.entity): previous.get((principal, grant.entity), ())}
        )
        remaining = self._apply(grant_source.load_grants(urns=affected_urns))
        own_privileges = remaining.get((principal, grant.entity), frozenset())
        remaining[principal, grant.entity] = frozenset(own_privileges) - frozenset(grant.privileges)
        unadministered_urns = grant_source.find_unadministered(urns=affected_urns, privileges=remaining)
        if unadministered_urns and not is_confirmed:
            raise Conflict(grant_services.describe_last_admin(sorted(unadministered_urns)))
        self._stage(grant, is_granted=False)
        self._pass_to_administrators(unadministered_urns)

    def hand_over(self, *, departing: Collection[str]) -> None:
        """Pass the ADMIN of those who would no longer act on, as `grant_services.reassign_sole_grants` does."""
        self._departed.update(departing)
        affected_urns = {urn for holder in departing for urn in grant_source.list_administered(holder=holder)}
        remaining = {
            pair: privileges
            for pair, privileges in self._apply(grant_source.load_grants(urns=affected_urns)).items()
            if pair[0] not in self._departed
        }
        self._pass_to_administrators(grant_source.find_unadministered(urns=affected_urns, privileges=remaining))

    def list_touching(self, *, tokens: Collection[str]) -> tuple[Statement, ...]:
        """Return the grants that changes concern, and those of these holders, as they reach entities."""
        changed_grants = {pair: list(privileges) for pair, privileges in self._changes.items()}
        held_grants = grant_source.load_grants(holders=tokens) if tokens else {}
        return (*_build_statements(changed_grants, cdap.CHANGED_GRANTS_URN), *_build_statements(held_grants))

    def load_sides(self, *, urns: Collection[str]) -> tuple[_StatementsByPolicy, _StatementsByPolicy]:
        """Return every grant that may reach these entities, before and after the changes, by policy."""
        grants = grant_source.load_grants(urns=urns)
        return self._group_by_policy(grants, grants), self._group_by_policy(grants, self._apply(grants))

    def _group_by_policy(self, old_grants: _Privileges, grants: _Privileges) -> _StatementsByPolicy:
        """Return grants as statements; those that the changes concern are of a policy of their own."""
        changed: dict[tuple[str, str], frozenset[str]] = {}
        unchanged: dict[tuple[str, str], frozenset[str]] = {}
        for pair in {*old_grants, *grants}:
            privileges, names = frozenset(grants.get(pair, ())), frozenset(self._changes.get(pair, ()))
            changed[pair], unchanged[pair] = privileges & names, privileges - names
        return {
            cdap.GRANTS_POLICY_URN: _build_statements(unchanged),
            cdap.CHANGED_GRANTS_URN: _build_statements(changed, cdap.CHANGED_GRANTS_URN),
        }

    def _resolve(self, principal: str, entity: str, privileges: Sequence[str] | None) -> Grant:
        names = None if privileges is None else tuple(privileges)
        with _strip_index():
            (grant,) = grant_requests.resolve_requests([GrantRequest(principal, entity, names)], by=self._by)
        return grant

    def _pass_to_administrators(self, urns: Collection[str]) -> None:
        administrators = grant_source.load_principal_columns(urns=instance_administrators()) if urns else ()
        for administrator in administrators:
            for urn in urns:
                self._changes[administrator, urn][cdap.ADMIN] = True

    def _stage(self, grant: Grant, *, is_granted: bool) -> None:
        self._changes[grant.principal, grant.entity] |= dict.fromkeys(grant.privileges, is_granted)

    def _apply(self, grants: _Privileges) -> dict[tuple[str, str], frozenset[str]]:
        """Return grants as the changes would leave them."""
        changed_grants = {pair: frozenset(privileges) for pair, privileges in grants.items()}
        for pair, changes in self._changes.items():
            granted_names = {name for name, is_granted in changes.items() if is_granted}
            changed_grants[pair] = (changed_grants.get(pair, frozenset()) - frozenset(changes)) | granted_names
        return changed_grants


def _build_statements(grants: _Privileges, policy: str = cdap.GRANTS_POLICY_URN) -> tuple[Statement, ...]:
    return cdap.build_reaching_grants(grants, is_inherited=settings.INHERIT_PRIVILEGES, policy=policy)


@contextmanager
def _strip_index() -> "Iterator[None]":
    """Take the index of the only request off the places of problems."""
    try:
        yield
    except Invalid as error:
        problems = [Problem(item.code, item.pointer.removeprefix("/0"), item.detail) for item in error.problems]
        raise Invalid(problems) from error
