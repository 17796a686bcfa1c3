"""Changes of CDAP grants (`policies.changes`): privileges on an entity or pattern are granted and revoked."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar

from catalog.access import grant_source
from catalog.access.grant_source import Grant
from catalog.cdap import grant_requests, grant_services
from catalog.cdap.changed_grants import ChangedGrants
from catalog.cdap.grant_requests import GrantRequest
from policies.changes.kinds import Change, ShapeField, join_names
from policies.changes.worlds import StagedWorld
from policies.engine.errors import Problem
from policies.engine.families import cdap
from policies.engine.families.validity import Validity
from policies.engine.model import Actor
from policies.engine.wording import word_time
from policies.errors import Conflict
from policies.http.api import strict_fields
from policies.http.api.grant_fields import GrantedEntityField, PrivilegeList
from policies.http.api.timed_holders import InstantField
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import database_clock

#: The index of the only request of a change, in the places of problems.
_INDEX = "/0"


class GrantChangeIn(strict_fields.StrictSerializer):
    """CDAP privileges that a user, group or role would get on an entity or pattern, until an end if one is given."""

    principal = strict_fields.StrictUrn(prefixes=(USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX))
    entity = GrantedEntityField()
    privileges = PrivilegeList()
    valid_until = InstantField(help_text="The grant ends at this time.")


class RevocationChangeIn(strict_fields.StrictSerializer):
    """CDAP privileges that a user, group or role would lose; all of its own when `privileges` is left out."""

    principal = strict_fields.StrictUrn(prefixes=(USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX))
    entity = GrantedEntityField()
    privileges = PrivilegeList(required=False)
    confirm = strict_fields.StrictBoolean(
        required=False,
        source="is_confirmed",
        help_text="Let the last ADMIN fall to the administrators of the instance.",
    )


class PrivilegeChange(Change):
    """A change of the privileges of one principal on one entity or pattern."""

    is_replayable = False
    principal: str
    entity: str
    privileges: Sequence[str] | None

    @property
    def subject(self) -> str:
        """The entity or pattern."""
        return self.entity

    def list_urns(self) -> list[str]:
        """Return the principal and the entity."""
        return [self.principal, self.entity]

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of the only request with its place."""
        return replace(problem, pointer=problem.pointer.removeprefix(_INDEX))

    @abstractmethod
    def build_request(self, reason: str = "") -> GrantRequest:
        """Return the change as services take it."""

    def load_held(self) -> tuple[str, ...]:
        """Return those of the privileges that the principal has on the entity now."""
        entity = grant_requests.normalize_entity(self.entity)
        held_names = grant_source.load_privileges(pairs=[(self.principal, entity)])[self.principal, entity]
        return tuple(name for name in cdap.expand(self.privileges or (cdap.ALL,)) if name in held_names)


@dataclass(frozen=True, slots=True)
class GrantPrivileges(PrivilegeChange):
    """A principal gets privileges, until an end if one is given."""

    kind: ClassVar[str] = "grant"
    principal: str
    entity: str
    privileges: Sequence[str]
    valid_until: datetime | None = None

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a principal, an entity, privileges and an end."""
        return GrantChangeIn(**kwargs)

    def build_request(self, reason: str = "") -> GrantRequest:
        """Return the change as services take it; without an end, a grant keeps the times that it has."""
        validity = None if self.valid_until is None else Validity(None, self.valid_until)
        return GrantRequest(self.principal, self.entity, tuple(self.privileges), validity=validity, reason=reason)

    def stage(self, world: StagedWorld) -> None:
        """Stage the privileges as granted."""
        (grant,) = grant_services.check_grants([self.build_request()], by=world.by, now=database_clock.get_now())
        world.join_grants(ChangedGrants).set_privileges(grant, is_granted=True)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:
        """Grant the privileges."""
        grant_services.grant(requests=[self.build_request(reason)], by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the revocation of what the principal does not have now; a last ADMIN falls to the administrators."""
        held_names = self.load_held()
        new_names = [name for name in cdap.expand(self.privileges) if name not in held_names]
        return [RevokePrivileges(self.principal, self.entity, tuple(new_names), is_confirmed=True)] if new_names else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the principal and the entity."""
        end = "" if self.valid_until is None else f" until {word_time(self.valid_until)}"
        return (
            f"Grant {join_names([self.principal], names)} {join_names(self.privileges, {})}"
            f" on {join_names([self.entity], names)}{end}."
        )


@dataclass(frozen=True, slots=True)
class RevokePrivileges(PrivilegeChange):
    """A principal loses privileges (None: all of its own).

    If it is confirmed, the last ADMIN of an entity passes to the administrators of the instance.
    """

    kind: ClassVar[str] = "revoke"
    subject_pointer: ClassVar[str] = "/entity"
    principal: str
    entity: str
    privileges: Sequence[str] | None = None
    is_confirmed: bool = False

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a principal, an entity and privileges."""
        return RevocationChangeIn(**kwargs)

    def build_request(self, reason: str = "") -> GrantRequest:  # noqa: ARG002 - nothing keeps the reason
        """Return the change as services take it."""
        privileges = None if self.privileges is None else tuple(self.privileges)
        return GrantRequest(self.principal, self.entity, privileges, is_confirmed=self.is_confirmed)

    def stage(self, world: StagedWorld) -> None:
        """Stage the privileges as revoked. Raises Conflict for the last ADMIN unless it is confirmed."""
        (grant,) = grant_services.check_revocations([self.build_request()], by=world.by)
        grants, pair = world.join_grants(ChangedGrants), (grant.principal, grant.entity)
        affected_urns = _find_affected(grant, grants)
        remaining = grants.apply(grant_source.load_grants(urns=affected_urns))
        remaining[pair] = remaining.get(pair, frozenset()) - frozenset(grant.privileges)
        unadministered_urns = grant_source.find_unadministered(urns=affected_urns, privileges=remaining)
        if unadministered_urns and not self.is_confirmed:
            raise Conflict(grant_services.describe_last_admin(sorted(unadministered_urns)))
        grants.set_privileges(grant, is_granted=False)
        grants.pass_to_administrators(unadministered_urns)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:
        """Revoke the privileges."""
        grant_services.revoke(requests=[self.build_request(reason)], by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the grant of what the principal has now, with the end that it has."""
        held_names = self.load_held()
        if not held_names:
            return []
        entity = grant_requests.normalize_entity(self.entity)
        names_by_end: dict[datetime | None, list[str]] = {}
        ends = grant_source.load_ends(pairs=[(self.principal, entity)])[self.principal, entity]
        for name in held_names:
            names_by_end.setdefault(ends.get(name), []).append(name)
        return [GrantPrivileges(self.principal, self.entity, tuple(names), end) for end, names in names_by_end.items()]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the principal and the entity."""
        privileges = "every privilege" if self.privileges is None else join_names(self.privileges, {})
        return f"Revoke {privileges} of {join_names([self.principal], names)} on {join_names([self.entity], names)}."


def _find_affected(grant: Grant, grants: ChangedGrants) -> frozenset[str]:
    """Return the entities on which the principal is about to lose the ADMIN that it would have."""
    pair = (grant.principal, grant.entity)
    previous = grants.apply(grant_source.load_grants(holders=[grant.principal]))
    return grant_services.find_admin_losses([grant], {pair: previous.get(pair, ())})


KINDS = (GrantPrivileges, RevokePrivileges)
