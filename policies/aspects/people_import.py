"""Bulk import of aspects of users and groups: load the rows concerned, plan in memory, write."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from policies.aspects.schemas import GROUP, POLICY, ROLE, USER, AspectChange
from policies.engine.errors import Problem
from policies.engine.families.privilege_effects import load_effects
from policies.engine.requirements import Requirement
from policies.errors import Invalid
from policies.identity.services import membership_writer, people_writer, role_writer
from policies.identity.services import users as user_services
from policies.identity.services.people_writer import UserOrGroup
from policies.models import GroupProfile, Membership, Role, User, documents
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.writes import required_privileges
from policies.writes.unit_of_work import UnitOfWork
from policies.writes.validation import Checks

_MEMBERSHIPS = {
    documents.EXTERNAL_GROUPS: membership_writer.EXTERNAL,
    documents.NATIVE_GROUPS: membership_writer.NATIVE,
}


@dataclass(slots=True)
class AspectImport:
    """An import in progress; call `read`, `plan` and `write` in this order.

    `facts_before` has the facts of each row concerned before the change (None: new), `groups_by_membership` (user, kind
    of membership) → target groups, `roles_by_holder` user or group → target roles, `new_services` the users to be
    created as service accounts, `external_urns` the groups that get external members.
    """

    changes: Sequence[AspectChange]
    uow: UnitOfWork
    users: dict[str, User] = field(default_factory=dict)
    groups: dict[str, GroupProfile] = field(default_factory=dict)
    facts_before: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    memberships: dict[str, dict[str, Membership]] = field(default_factory=dict)
    groups_by_membership: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    roles_by_holder: dict[str, list[str]] = field(default_factory=dict)
    existing_roles: set[str] = field(default_factory=set)
    requirements: dict[tuple[Requirement, str, str], None] = field(default_factory=dict)
    new_services: frozenset[str] = frozenset()
    external_urns: dict[str, None] = field(default_factory=dict)

    def read(self) -> None:
        """Load all users, groups, roles and memberships that the changes name (four queries)."""
        user_urns = {change.urn for change in self.changes if change.entity_type == USER}
        group_urns = {change.urn for change in self.changes if change.entity_type == GROUP}
        group_urns |= {urn for change in self.changes if change.name in _MEMBERSHIPS for urn in _member_urns(change)}
        self.users = {row.urn: row for row in User.objects.filter(urn__in=user_urns)}
        self.new_services = frozenset(
            change.urn
            for change in self.changes
            if change.name == documents.SUB_TYPES
            and documents.is_service(change.document)
            and change.urn not in self.users
        )
        self.groups = {row.urn: row for row in GroupProfile.objects.filter(urn__in=group_urns).select_related("group")}
        role_urns = {urn for change in self.changes if change.name == documents.ROLES for urn in _member_urns(change)}
        self.existing_roles = set(Role.objects.filter(urn__in=role_urns).values_list("urn", flat=True))
        member_urns = {change.urn for change in self.changes if change.name in _MEMBERSHIPS}
        self.memberships = membership_writer.load_memberships(urns=member_urns)

    @property
    def requests(self) -> list[AccessRequest]:
        """The access requests that the changes require, each once."""
        return [
            AccessRequest(requirement, ResourceRef(urn, type) if urn else None)
            for requirement, urn, type in self.requirements
        ]

    def plan(self) -> None:
        """Apply every change to the rows in memory and collect the requirements; raises Invalid with all problems."""
        problems: list[Problem] = []
        for position, change in enumerate(self.changes):
            if change.entity_type in (ROLE, POLICY):
                self._add_requirement(required_privileges.MANAGE_POLICIES)
                if change.name == documents.ROLE_INFO and change.document is not None:
                    self.existing_roles.add(change.urn)
                continue
            if change.document is None and self._find_row(change.urn) is None:
                self._add_requirement(
                    required_privileges.privilege_group("user.update" if change.entity_type == USER else "group.update")
                )
                continue
            problems += self._find_row_problems(change, position)
            if problems:
                continue
            self._plan_row(change)
        problems += self._find_alike_problems()
        for position, change in enumerate(self.changes):
            problems += [*self._find_role_problems(change, position), *self._find_removed_problems(change, position)]
        if problems:
            raise Invalid(problems)

    def write(self) -> None:
        """Store rows, memberships and assignments, and record them; roles that are named must be stored by then."""
        self._mark_external()
        rows = [self._get_row(urn) for urn in self.facts_before]
        people_writer.store(rows, facts_before=self.facts_before, uow=self.uow, describe=people_writer.source_facts)
        membership_writer.replace_groups(
            targets=[
                (self.users[user_urn], kind, [self.groups[urn] for urn in group_urns])
                for (user_urn, kind), group_urns in self.groups_by_membership.items()
            ],
            memberships=self.memberships,
            uow=self.uow,
        )
        role_urns = {urn for urns in self.roles_by_holder.values() for urn in urns}
        stored_roles = {role.urn: role for role in Role.objects.filter(urn__in=role_urns)}
        role_writer.change_roles(
            holders=[self._get_row(urn) for urn in self.roles_by_holder],
            choose=lambda holder, _: [stored_roles[urn] for urn in self.roles_by_holder[holder.urn]],
            uow=self.uow,
        )

    def _mark_external(self) -> None:
        """Make the groups that get external members external, unless they declare their origin."""
        groups = [self.groups[urn] for urn in self.external_urns]
        changed_groups = [
            group
            for group in groups
            if documents.ORIGIN not in group.extra and group.origin != GroupProfile.Origin.EXTERNAL
        ]
        for group in changed_groups:
            if group.urn in self.facts_before:
                group.origin = GroupProfile.Origin.EXTERNAL
        # Most change in nothing else: one statement for all of these.
        people_writer.set_origin(
            [group for group in changed_groups if group.urn not in self.facts_before],
            origin=GroupProfile.Origin.EXTERNAL,
            uow=self.uow,
        )

    def _find_row_problems(self, change: AspectChange, position: int) -> list[Problem]:
        row = self._find_row(change.urn)
        if row is not None or change.entity_type != USER:
            return _find_kind_problems(change, row, position)
        checks = Checks()
        user_services.check_username(checks, change.urn.removeprefix(USER_PREFIX), f"/{position}/urn", by=self.uow.by)
        return checks.problems

    def _find_alike_problems(self) -> list[Problem]:
        """Return a problem for each new user with a name that looks like that of a user who signs in.

        Other users, delivered by directories, may have names that differ in letter case only.
        """
        new_urns = {row.username: urn for urn, row in self.users.items() if self._is_new(urn)}
        alike_urns = user_services.find_lookalikes(usernames=new_urns)
        positions = {change.urn: position for position, change in reversed(list(enumerate(self.changes)))}
        return [
            Problem(
                "username.alike", f"/{positions[new_urns[name]]}/urn", f"The name looks like that of the user {urn}."
            )
            for name, urn in alike_urns.items()
        ]

    def _find_role_problems(self, change: AspectChange, position: int) -> list[Problem]:
        if change.name != documents.ROLES:
            return []
        return [
            Problem("unknown", f"/{position}/roles/{index}", f"There is no role {urn!r}.")
            for index, urn in enumerate(_member_urns(change))
            if urn not in self.existing_roles
        ]

    def _find_removed_problems(self, change: AspectChange, position: int) -> list[Problem]:
        """Return a problem for each removed group that `nativeGroupMembership` newly names, unless it is restored here.

        `groupMembership` may name it: sources deliver a person's groups before they restore those that come back.
        """
        if change.name != documents.NATIVE_GROUPS:
            return []
        field, memberships = documents.members_field(change.name), self.memberships.get(change.urn, {})
        return [
            Problem("unknown", f"/{position}/{field}/{index}", f"There is no group {urn!r}: it is removed.")
            for index, urn in enumerate(_member_urns(change))
            if (group := self.groups.get(urn)) is not None
            and group.is_removed
            and not (urn in memberships and memberships[urn].is_native)
        ]

    def _plan_row(self, change: AspectChange) -> None:
        row = self._get_or_create_row(change.urn)
        if change.name in _MEMBERSHIPS:
            self._plan_memberships(change)
        elif change.name == documents.ROLES:
            self._add_requirement(required_privileges.MANAGE_POLICIES)
            self.roles_by_holder[change.urn] = documents.set_relation(row, change.name, change.document)
        else:
            if self.facts_before[change.urn] is not None:
                self._require_for_aspect(change, row)
            aspects = documents.to_aspects(row)
            aspects.pop(change.name, None)
            documents.set_aspects(row, aspects if change.document is None else aspects | {change.name: change.document})

    def _require_for_aspect(self, change: AspectChange, row: UserOrGroup) -> None:
        kind = "user" if change.entity_type == USER else "group"
        if isinstance(row, User) and row.kind == User.Kind.SERVICE:
            is_removal = change.name == documents.STATUS and (change.document or {}).get("removed")
            self._add_requirement(
                required_privileges.MANAGE_SERVICE_ACCOUNTS if is_removal else required_privileges.service_profile()
            )
            return
        document = change.document or {}
        if change.name in (documents.USER_EDITABLE, documents.GROUP_EDITABLE):
            self._require_for_profile(change, row)
        elif change.name == documents.STATUS and document.get("removed"):
            self._add_requirement(required_privileges.privilege_group(f"{kind}.delete"))
        else:
            self._add_requirement(required_privileges.privilege_group(f"{kind}.update"))

    def _require_for_profile(self, change: AspectChange, row: UserOrGroup) -> None:
        """Collect what each changed part of a profile needs: a name, the texts, the ways to reach somebody."""
        old_document, document = documents.to_aspects(row).get(change.name, {}), change.document or {}
        for part in load_effects().diff_parts(change.name, old_document, document) or (None,):
            if change.entity_type == GROUP:
                requirement = required_privileges.group_profile(part)
            else:
                is_address = part == "email" and document.get("email") not in (None, "", row.email)
                requirement = required_privileges.user_profile(part, is_address=is_address)
            self._add_requirement(requirement, change.urn, change.entity_type)

    def _plan_memberships(self, change: AspectChange) -> None:
        flag = _MEMBERSHIPS[change.name]
        group_urns = documents.set_relation(self.users[change.urn], change.name, change.document)
        self.groups_by_membership[change.urn, flag] = group_urns
        current_urns = {urn for urn, row in self.memberships.get(change.urn, {}).items() if getattr(row, flag)}
        for urn in current_urns.symmetric_difference(group_urns):
            self._add_requirement(required_privileges.group_members(), urn, GROUP)
        if current_urns == set(group_urns):
            self._add_requirement(required_privileges.privilege_group("group.update"))
        for urn in group_urns:
            if urn not in current_urns and (urn not in self.groups or flag == "is_external"):
                self._ensure_group(urn, is_external=flag == "is_external")

    def _ensure_group(self, urn: str, *, is_external: bool) -> None:
        """Create the group if it is new. A group without a declared origin becomes external with an external member."""
        if urn not in self.groups:
            self._get_or_create_row(urn)
        if is_external:
            self.external_urns[urn] = None

    def _get_or_create_row(self, urn: str) -> UserOrGroup:
        """Return the row to be changed, a new one if there is none."""
        row = self._find_row(urn)
        if row is not None:
            if urn not in self.facts_before:
                self.facts_before[urn] = people_writer.source_facts(row)
            return row
        self.facts_before[urn] = None
        by = self.uow.by
        if urn.startswith(USER_PREFIX):
            is_service = urn in self.new_services
            kind = User.Kind.SERVICE if is_service else User.Kind.PERSON
            self._add_requirement(
                required_privileges.MANAGE_SERVICE_ACCOUNTS
                if is_service
                else required_privileges.privilege_group("user.create")
            )
            self.users[urn] = User(urn=urn, username=urn.removeprefix(USER_PREFIX), created_by=by.urn, kind=kind)
            self.users[urn].set_unusable_password()
            return self.users[urn]
        self._add_requirement(required_privileges.privilege_group("group.create"))
        self.groups[urn] = people_writer.build_group(identifier=urn.removeprefix(GROUP_PREFIX), by=by)
        return self.groups[urn]

    def _find_row(self, urn: str) -> UserOrGroup | None:
        return self.users.get(urn) or self.groups.get(urn)

    def _get_row(self, urn: str) -> UserOrGroup:
        return self.users.get(urn) or self.groups[urn]

    def _add_requirement(self, requirement: Requirement, urn: str = "", type: str = "") -> None:
        self.requirements[requirement, urn, type] = None

    def _is_new(self, urn: str) -> bool:
        return urn in self.facts_before and self.facts_before[urn] is None


def _find_kind_problems(change: AspectChange, row: UserOrGroup | None, position: int) -> list[Problem]:
    """Return a problem if a `subTypes` aspect changes the kind of a user.

    Otherwise an actor with MANAGE_SERVICE_ACCOUNTS could turn a person into a service account and create its tokens.
    """
    if change.name != documents.SUB_TYPES or not isinstance(row, User):
        return []
    is_service = row.kind == User.Kind.SERVICE
    if documents.is_service(change.document) == is_service:
        return []
    detail = (
        f"{row.name} is a service account and stays one."
        if is_service
        else f"{row.name} is a person; a service account is made as one, it is not made of a person."
    )
    return [Problem("user.kind", f"/{position}/typeNames", detail)]


def _member_urns(change: AspectChange) -> list[str]:
    return list((change.document or {}).get(documents.members_field(change.name)) or [])
