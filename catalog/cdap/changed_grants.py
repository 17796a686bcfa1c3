"""Grants as changes would leave them; nothing is stored."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from django.conf import settings

from catalog.access import grant_source
from catalog.access.grant_rows import instance_administrators
from catalog.access.grant_source import Grant
from policies.engine.families import cdap
from policies.engine.model import Statement

_StatementsByPolicy = Mapping[str, tuple[Statement, ...]]
_Privileges = Mapping[tuple[str, str], Collection[str]]


class ChangedGrants:
    """`policies.pdp.ports.GrantStage`: the changes so far; a later one wins over an earlier one."""

    def __init__(self) -> None:
        #: After the changes: whether the holder has the privilege on the entity or pattern.
        self._changes: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
        self._departed: set[str] = set()

    def set_privileges(self, grant: Grant, *, is_granted: bool) -> None:
        """Grant privileges to a holder, or revoke them."""
        self._changes[grant.principal, grant.entity] |= dict.fromkeys(grant.privileges, is_granted)

    def apply(self, grants: _Privileges) -> dict[tuple[str, str], frozenset[str]]:
        """Return stored grants, by holder and entity, as the changes would leave them."""
        changed_grants = {pair: frozenset(privileges) for pair, privileges in grants.items()}
        for pair, changes in self._changes.items():
            granted_names = {name for name, is_granted in changes.items() if is_granted}
            changed_grants[pair] = (changed_grants.get(pair, frozenset()) - frozenset(changes)) | granted_names
        return changed_grants

    def pass_to_administrators(self, urns: Collection[str]) -> None:
        """Give ADMIN on these to the administrators of the instance."""
        administrators = grant_source.load_principal_columns(urns=instance_administrators()) if urns else ()
        for administrator in administrators:
            for urn in urns:
                self._changes[administrator, urn][cdap.ADMIN] = True

    def hand_over(self, *, departing: Collection[str]) -> None:
        """Pass the ADMIN of those who would no longer act on, as `grant_services.reassign_sole_grants` does."""
        self._departed.update(departing)
        affected_urns = {urn for holder in departing for urn in grant_source.list_administered(holder=holder)}
        remaining = {
            pair: privileges
            for pair, privileges in self.apply(grant_source.load_grants(urns=affected_urns)).items()
            if pair[0] not in self._departed
        }
        self.pass_to_administrators(grant_source.find_unadministered(urns=affected_urns, privileges=remaining))

    def list_touching(self, *, tokens: Collection[str]) -> tuple[Statement, ...]:
        """Return the grants that changes concern, and those of these holders, as they reach entities."""
        changed_grants = {pair: list(privileges) for pair, privileges in self._changes.items()}
        held_grants = grant_source.load_grants(holders=tokens) if tokens else {}
        return (*_build_statements(changed_grants, cdap.CHANGED_GRANTS_URN), *_build_statements(held_grants))

    def load_sides(self, *, urns: Collection[str]) -> tuple[_StatementsByPolicy, _StatementsByPolicy]:
        """Return every grant that may reach these entities, before and after the changes, by policy."""
        grants = grant_source.load_grants(urns=urns)
        return self._group_by_policy(grants, grants), self._group_by_policy(grants, self.apply(grants))

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


def _build_statements(grants: _Privileges, policy: str = cdap.GRANTS_POLICY_URN) -> tuple[Statement, ...]:
    return cdap.build_reaching_grants(grants, is_inherited=settings.INHERIT_PRIVILEGES, policy=policy)
