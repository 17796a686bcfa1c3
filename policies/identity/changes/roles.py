"""Changes of roles: who holds one, and roles that are put and deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar
from uuid import uuid4

from django.db.models import Q

from policies.changes import people as staged
from policies.changes.kinds import Change, ShapeField, join_names
from policies.changes.people import LOST, Holding
from policies.changes.worlds import StagedWorld
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.timed_holders import InstantField
from policies.identity.changes.endings import describe_end, locate_holder_problem, make_holders
from policies.identity.services import roles
from policies.identity.services.roles import MAX_ACTORS
from policies.models import Membership, Role, RoleAssignment
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX, MAX_NAME_LENGTH, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import database_clock
from policies.writes import required_privileges
from policies.writes.validation import MAX_TEXT_LENGTH, Checks


class RoleChangeIn(strict_fields.StrictSerializer):
    """Users and groups who would lose a role."""

    role = strict_fields.StrictUrn(prefixes=(ROLE_PREFIX,))
    actors = strict_fields.StrictUrnList(USER_PREFIX, GROUP_PREFIX, max_length=MAX_ACTORS)


class RoleAssignmentIn(RoleChangeIn):
    """Users and groups who would get a role, until an end if one is given."""

    valid_until = InstantField(help_text="They hold it until this time.")


class RolePutIn(strict_fields.StrictSerializer):
    """A role that would be stored, in place of the one with this URN if there is one."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(ROLE_PREFIX,))
    name = strict_fields.StrictString(max_length=MAX_NAME_LENGTH)
    description = strict_fields.StrictString(required=False, allow_blank=True, max_length=MAX_TEXT_LENGTH)


class HolderChange(Change):
    """A change of who holds one role."""

    subject_pointer = "/role"
    role: str
    actors: Sequence[str]

    @property
    def subject(self) -> str:
        """The URN of the role."""
        return self.role

    def list_urns(self) -> list[str]:
        """Return the role and its holders."""
        return [self.role, *self.actors]

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of a holder with its place: the end is the same for all."""
        return locate_holder_problem(problem, "/actors")

    def list_assignments(self) -> dict[str, RoleAssignment]:
        """Return those of the users and groups who hold the role now, by URN, with their assignments."""
        urns = filter_storable(self.actors)
        rows = RoleAssignment.objects.filter(role__urn=self.role).select_related("user", "group__profile")
        rows = rows.filter(Q(user__urn__in=urns) | Q(group__profile__urn__in=urns))
        return {row.holder_row.urn: row for row in rows}


@dataclass(frozen=True, slots=True)
class AssignRoles(HolderChange):
    """Users and groups get a role, until an end if one is given; without one, holders keep it as long as they do."""

    kind: ClassVar[str] = "assign_roles"
    role: str
    actors: Sequence[str]
    valid_until: datetime | None = None

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a role, users, groups and an end."""
        return RoleAssignmentIn(**kwargs)

    def stage(self, world: StagedWorld) -> None:
        """Stage the users and groups as holders."""
        holders = make_holders(self.actors, self.valid_until)
        roles.require_assignment(actors=holders, by=world.by)
        if self.role not in world.new_roles:
            roles.get_role(self.role)
        for urn in roles.check_assignment(actors=holders, now=database_clock.get_now()):
            world.people.assignments[urn][self.role] = Holding(is_held=True, ends=self.valid_until)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:
        """Assign the role."""
        holders = make_holders(self.actors, self.valid_until, reason)
        roles.grant(urn=self.role, actors=holders, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the removal from those who do not hold the role now."""
        assignments = self.list_assignments()
        new_urns = [urn for urn in dict.fromkeys(self.actors) if urn not in assignments]
        return [UnassignRoles(self.role, new_urns)] if new_urns else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the holders and the role."""
        people, end = join_names(self.actors, names), describe_end(self.valid_until)
        return f"Assign the role {join_names([self.role], names)} to {people}{end}."


@dataclass(frozen=True, slots=True)
class UnassignRoles(HolderChange):
    """Users and groups lose a role."""

    kind: ClassVar[str] = "unassign_roles"
    role: str
    actors: Sequence[str]

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a role, users and groups."""
        return RoleChangeIn(**kwargs)

    def stage(self, world: StagedWorld) -> None:
        """Stage the users and groups without the role."""
        roles.require_assignment(actors=self.actors, by=world.by)
        if self.role not in world.new_roles:
            roles.get_role(self.role)
        for urn in roles.load_holders(urns=self.actors):
            world.people.assignments[urn][self.role] = LOST

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Take the role away."""
        roles.revoke(urn=self.role, actors=self.actors, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the assignments of those who hold the role now, with the ends that they have."""
        urns_by_end: dict[datetime | None, list[str]] = {}
        for urn, row in self.list_assignments().items():
            urns_by_end.setdefault(row.valid_until, []).append(urn)
        return [AssignRoles(self.role, urns, end) for end, urns in urns_by_end.items()]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the holders and the role."""
        return f"Take the role {join_names([self.role], names)} from {join_names(self.actors, names)}."


@dataclass(frozen=True, slots=True)
class PutRole(Change):
    """A role is created, or gets another name and description; nobody holds a new one."""

    kind: ClassVar[str] = "put_role"
    urn: str | None
    name: str
    description: str | None = None

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a role, its name and its description."""
        return RolePutIn(**kwargs)

    @classmethod
    def read(cls, value: Any) -> "PutRole":
        """Return the change that a validated value states."""
        return cls(value.get("urn"), value["name"], value.get("description"))

    @property
    def subject(self) -> str:
        """The URN of the role; empty for a new one."""
        return self.urn or ""

    def assign_urn(self) -> "PutRole":
        """Return the change with the URN of its role."""
        return self if self.urn else replace(self, urn=f"{ROLE_PREFIX}{uuid4()}")

    def stage(self, world: StagedWorld) -> None:
        """Stage the role, so that changes after this one may name it."""
        required_privileges.require(by=world.by, requirement=required_privileges.MANAGE_POLICIES)
        checks = Checks()
        identifier = (self.urn or ROLE_PREFIX + "new").removeprefix(ROLE_PREFIX)
        roles.check_description(checks, identifier=identifier, name=self.name, description=self.description or "")
        checks.finish()
        if self.urn is None:
            return
        if self._find_role() is None:
            world.new_roles.add(self.urn)
        else:
            roles.get_editable_role(self.urn, by=world.by)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - a role keeps no reason
        """Store the role."""
        role = self.assign_urn()
        if self._find_role() is None:
            identifier = role.subject.removeprefix(ROLE_PREFIX)
            roles.create(
                name=self.name, identifier=identifier, description=self.description or "", by=by, channel=channel
            )
        else:
            roles.update(urn=role.subject, name=self.name, description=self.description, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change] | None:
        """Return the deletion of a new role, or the name and description that it has now."""
        if self.urn is None:
            return None
        role = self._find_role()
        return [DeleteRole(self.urn)] if role is None else [PutRole(self.urn, role.name, role.description)]

    def describe(self, names: Mapping[str, str]) -> str:  # noqa: ARG002 - it has its name with it
        """Return a sentence with the name of the role."""
        return f"Store the role {self.name}."

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of the write; the id of a role is in its URN."""
        return replace(problem, pointer="/urn") if problem.pointer == "/id" else problem

    def _find_role(self) -> Role | None:
        return Role.objects.filter(urn__in=filter_storable([self.subject])).first()


@dataclass(frozen=True, slots=True)
class DeleteRole(Change):
    """A role is deleted, and its holders lose it; pages ask before."""

    kind: ClassVar[str] = "delete_role"
    is_offered: ClassVar[bool] = False
    role: str

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of the URN of a role."""
        return strict_fields.StrictUrn(prefixes=(ROLE_PREFIX,), **kwargs)

    @property
    def subject(self) -> str:
        """The URN of the role."""
        return self.role

    def stage(self, world: StagedWorld) -> None:
        """Stage its holders without the role."""
        if self.role in world.new_roles:
            world.new_roles.remove(self.role)
            return
        row = roles.get_deletable_role(self.role, by=world.by)
        holding_groups = RoleAssignment.objects.filter(role=row, group__profile__is_removed=False)
        members = Membership.objects.filter(group__in=holding_groups.order_by().values("group"))
        holders = RoleAssignment.objects.filter(role=row, user__isnull=False).order_by("user__urn")
        if members[: staged.MAX_AFFECTED + 1].count() <= staged.MAX_AFFECTED:
            for urn in holding_groups.values_list("group__profile__urn", flat=True):
                world.people.assignments[urn][self.role] = LOST
        else:
            world.people.is_complete = False
        for urn in world.people.limit_people(holders.values_list("user__urn", flat=True)):
            world.people.assignments[urn][self.role] = LOST
        world.people.deleted_urns.add(self.role)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Delete the role."""
        roles.delete(urn=self.role, by=by, channel=channel)

    def find_inverse(self) -> None:
        """Return None: who is deleted is forgotten."""

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the role."""
        return f"Delete the role {join_names([self.role], names)}."


KINDS = (AssignRoles, UnassignRoles, PutRole, DeleteRole)
