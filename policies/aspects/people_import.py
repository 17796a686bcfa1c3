"""Aspects of users and groups on their way into rows, many at once: read what they touch, plan in memory, write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policies.aspects.schemas import GROUP, POLICY, ROLE, USER, AspectChange
from policies.engine.errors import Problem
from policies.engine.requirements import Requirement
from policies.errors import Invalid
from policies.identity.services import groups, name_index, roles
from policies.identity.services import users as user_services
from policies.models import GroupProfile, Membership, Role, User, Verb, documents
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp.authorizer import Ask, Asked
from policies.writes import required_privileges
from policies.writes.unit_of_work import Change
from policies.writes.validation import Checks

Row = User | GroupProfile

_MEMBERSHIPS = {documents.EXTERNAL_GROUPS: "is_external", documents.NATIVE_GROUPS: "is_native"}
_USER_COLUMNS = ("display_name", "title", "email", "description", "state", "is_removed", "session_epoch", "extra")
_GROUP_COLUMNS = ("name", "description", "email", "origin", "is_removed", "extra")


@dataclass(slots=True)
class Batch:
    """Changes in progress.

    `before` holds what each row that is touched was (None: it is new), `joins` the groups wanted for each user and kind
    of membership, `role_lists` the roles wanted for each user and group, `new_services` the users that are to be made
    as service accounts.
    """

    changes: Sequence[AspectChange]
    doing: Change
    users: dict[str, User] = field(default_factory=dict)
    groups: dict[str, GroupProfile] = field(default_factory=dict)
    before: dict[str, dict[str, Any] | None] = field(default_factory=dict)
    memberships: dict[str, dict[str, Membership]] = field(default_factory=dict)
    joins: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    role_lists: dict[str, list[str]] = field(default_factory=dict)
    known_roles: set[str] = field(default_factory=set)
    asked: dict[tuple[Requirement, str, str], None] = field(default_factory=dict)
    new_services: frozenset[str] = frozenset()

    def read(self) -> None:
        """Load everything the changes name: users, groups, roles and memberships, one query each."""
        users = {one.urn for one in self.changes if one.entity_type == USER}
        named = {one.urn for one in self.changes if one.entity_type == GROUP}
        named |= {urn for one in self.changes if one.name in _MEMBERSHIPS for urn in _listed(one)}
        self.users = {row.urn: row for row in User.objects.filter(urn__in=users)}
        self.new_services = frozenset(
            one.urn
            for one in self.changes
            if one.name == documents.SUB_TYPES and documents.is_service(one.document) and one.urn not in self.users
        )
        self.groups = {row.urn: row for row in GroupProfile.objects.filter(urn__in=named).select_related("group")}
        wanted = {urn for one in self.changes if one.name == documents.ROLES for urn in _listed(one)}
        self.known_roles = set(Role.objects.filter(urn__in=wanted).values_list("urn", flat=True))
        joining = {one.urn for one in self.changes if one.name in _MEMBERSHIPS}
        held = Membership.objects.filter(user__urn__in=joining).select_related("user", "group__profile")
        for row in held.order_by("pk"):
            self.memberships.setdefault(row.user.urn, {})[row.group.profile.urn] = row

    @property
    def asks(self) -> list[Ask]:
        """Everything the changes need, each once."""
        return [Ask(requirement, Asked(urn, type) if urn else None) for requirement, urn, type in self.asked]

    def plan(self) -> None:
        """Put every change into the rows in memory and note what it needs; raises Invalid for what is not known."""
        problems: list[Problem] = []
        for position, one in enumerate(self.changes):
            if one.entity_type in (ROLE, POLICY):
                self._ask(required_privileges.MANAGE_POLICIES)
                if one.name == documents.ROLE_INFO and one.document is not None:
                    self.known_roles.add(one.urn)
                continue
            if one.document is None and self._row(one.urn) is None:
                self._ask(required_privileges.group_of("user.update" if one.entity_type == USER else "group.update"))
                continue
            problems += self._row_problems(one, position)
            if problems:
                continue
            self._plan_row(one)
        problems += self._alike_problems()
        for position, one in enumerate(self.changes):
            problems += self._role_problems(one, position)
        if problems:
            raise Invalid(problems)

    def write(self) -> None:
        """Store rows, memberships and assignments, and record them; the roles that are named are stored by now."""
        if self._takes_away():
            self.doing.takes("what this takes away")
        self.doing.announce(*self.before)
        for urn in self._ended():
            self.doing.ends(urn)
        self._write_rows()
        self._write_memberships()
        self._write_assignments()

    def _row_problems(self, one: AspectChange, position: int) -> list[Problem]:
        row = self._row(one.urn)
        if row is not None or one.entity_type != USER:
            return _kind_problems(one, row, position)
        checks = Checks()
        user_services.check_username(checks, one.urn.removeprefix(USER_PREFIX), f"/{position}/urn", by=self.doing.by)
        return checks.problems

    def _alike_problems(self) -> list[Problem]:
        """Return a problem for each new user whose name looks like that of somebody who signs in.

        Among others, directories have names that differ in letter case, and nobody takes one for the other.
        """
        new = {row.username: urn for urn, row in self.users.items() if self._is_new(urn)}
        alike = user_services.find_alike(usernames=new)
        places = {one.urn: position for position, one in reversed(list(enumerate(self.changes)))}
        return [
            Problem("username.alike", f"/{places[new[name]]}/urn", f"The name looks like that of the user {urn}.")
            for name, urn in alike.items()
        ]

    def _role_problems(self, one: AspectChange, position: int) -> list[Problem]:
        if one.name != documents.ROLES:
            return []
        return [
            Problem("unknown", f"/{position}/roles/{place}", f"There is no role {urn!r}.")
            for place, urn in enumerate(_listed(one))
            if urn not in self.known_roles
        ]

    def _plan_row(self, one: AspectChange) -> None:
        row = self._touch(one.urn)
        if one.name in _MEMBERSHIPS:
            self._plan_memberships(one)
        elif one.name == documents.ROLES:
            self._ask(required_privileges.MANAGE_POLICIES)
            self.role_lists[one.urn] = documents.keep_relation(row, one.name, one.document)
        else:
            if self.before[one.urn] is not None:
                self._ask_for_aspect(one, row)
            self._put(row, one)

    def _ask_for_aspect(self, one: AspectChange, row: Row) -> None:
        kind = "user" if one.entity_type == USER else "group"
        if isinstance(row, User) and row.kind == User.Kind.SERVICE:
            is_removal = one.name == documents.STATUS and (one.document or {}).get("removed")
            self._ask(required_privileges.SERVICES if is_removal else required_privileges.service_update())
            return
        document = one.document or {}
        # Everybody may edit the own profile, but nobody the address that people are recognised by.
        is_same_address = document.get("email") in (None, "", row.email)
        if one.name == documents.USER_EDITABLE and is_same_address:
            self._ask(required_privileges.user_profile(), one.urn, USER)
        elif one.name == documents.GROUP_EDITABLE:
            self._ask(required_privileges.group_profile(), one.urn, GROUP)
        elif one.name == documents.STATUS and document.get("removed"):
            self._ask(required_privileges.group_of(f"{kind}.delete"))
        else:
            self._ask(required_privileges.group_of(f"{kind}.update"))

    def _put(self, row: Row, one: AspectChange) -> None:
        was_active = isinstance(row, User) and row.is_active
        composed = documents.compose(row)
        composed.pop(one.name, None)
        documents.reduce(row, composed if one.document is None else composed | {one.name: one.document})
        if isinstance(row, User):
            user_services.refuse_root_loss(row)
            if was_active and not row.is_active:
                row.session_epoch += 1

    def _plan_memberships(self, one: AspectChange) -> None:
        flag = _MEMBERSHIPS[one.name]
        wanted = documents.keep_relation(self.users[one.urn], one.name, one.document)
        self.joins[one.urn, flag] = wanted
        had = {urn for urn, row in self.memberships.get(one.urn, {}).items() if getattr(row, flag)}
        for urn in had.symmetric_difference(wanted):
            self._ask(required_privileges.group_members(), urn, GROUP)
        if had == set(wanted):
            self._ask(required_privileges.group_of("group.update"))
        for urn in wanted:
            if urn not in had and (urn not in self.groups or flag == "is_external"):
                self._prepare(urn, is_external=flag == "is_external")

    def _prepare(self, urn: str, *, is_external: bool) -> None:
        """Make the group if need be. If nobody said its origin, it is external once a source puts somebody into it."""
        self._touch(urn)
        group = self.groups[urn]
        if is_external and documents.ORIGIN not in group.extra:
            group.origin = GroupProfile.Origin.EXTERNAL

    def _touch(self, urn: str) -> Row:
        """Return the row that is to change, a new one where there is none."""
        row = self._row(urn)
        if row is not None:
            self.before.setdefault(urn, _facts(row))
            return row
        self.before[urn] = None
        by = self.doing.by
        if urn.startswith(USER_PREFIX):
            is_service = urn in self.new_services
            kind = User.Kind.SERVICE if is_service else User.Kind.PERSON
            self._ask(required_privileges.SERVICES if is_service else required_privileges.group_of("user.create"))
            self.users[urn] = User(urn=urn, username=urn.removeprefix(USER_PREFIX), created_by=by.urn, kind=kind)
            self.users[urn].set_unusable_password()
            return self.users[urn]
        self._ask(required_privileges.group_of("group.create"))
        self.groups[urn] = groups.blank(identifier=urn.removeprefix(GROUP_PREFIX), by=by)
        return self.groups[urn]

    def _row(self, urn: str) -> Row | None:
        return self.users.get(urn) or self.groups.get(urn)

    def _ask(self, requirement: Requirement, urn: str = "", type: str = "") -> None:
        self.asked[requirement, urn, type] = None

    def _is_new(self, urn: str) -> bool:
        return urn in self.before and self.before[urn] is None

    def _is_changed(self, urn: str) -> bool:
        return self.before.get(urn) is not None

    def _takes_away(self) -> bool:
        """Whether somebody may lose something: an account or group ends, a membership does, roles are replaced."""
        if self.role_lists or self._ended():
            return True
        return any(
            getattr(row, flag) and group not in wanted
            for (user, flag), wanted in self.joins.items()
            for group, row in self.memberships.get(user, {}).items()
        )

    def _ended(self) -> list[str]:
        """Return the users and groups that can do nothing any more once this is written."""
        changed = ((urn, before) for urn, before in self.before.items() if before is not None)
        return [urn for urn, before in changed if _is_ended(self._row(urn), before)]

    def _write_rows(self) -> None:
        User.objects.bulk_create(row for urn, row in self.users.items() if self._is_new(urn))
        groups.store_new([row for urn, row in self.groups.items() if self._is_new(urn)])
        users = [row for urn, row in self.users.items() if self._is_changed(urn)]
        User.objects.bulk_update(users, _USER_COLUMNS)
        changed = [row for urn, row in self.groups.items() if self._is_changed(urn)]
        GroupProfile.objects.bulk_update(changed, _GROUP_COLUMNS)
        name_index.index(users=[row for urn, row in self.users.items() if urn in self.before], groups=changed)
        for urn, before in self.before.items():
            row = self.users.get(urn) or self.groups[urn]
            after = _facts(row)
            if before != after:
                verb = Verb.CREATED if before is None else Verb.UPDATED
                self.doing.record(urn=urn, name=row.name, verb=verb, before=before, after=after)

    def _write_memberships(self) -> None:
        moved: dict[int, Membership] = {}
        new: dict[tuple[str, str], Membership] = {}
        for (user_urn, flag), wanted in self.joins.items():
            held = self.memberships.setdefault(user_urn, {})
            was = [urn for urn, row in held.items() if getattr(row, flag)]
            for urn in wanted:
                if urn not in held:
                    held[urn] = Membership(user=self.users[user_urn], group=self.groups[urn].group)
                    new[user_urn, urn] = held[urn]
            for urn, row in held.items():
                if getattr(row, flag) != (urn in wanted):
                    setattr(row, flag, urn in wanted)
                    if row.pk is not None:
                        moved[row.pk] = row
            if set(was) != set(wanted):
                self.doing.record(
                    urn=user_urn,
                    name=self.users[user_urn].name,
                    verb=Verb.MEMBERS_CHANGED,
                    before={"groups": was},
                    after={"groups": wanted},
                )
        kept = [row for row in moved.values() if row.is_native or row.is_external]
        gone = [row.pk for row in moved.values() if not (row.is_native or row.is_external)]
        Membership.objects.filter(pk__in=gone).delete()
        Membership.objects.bulk_update(kept, ("is_native", "is_external"))
        Membership.objects.bulk_create(row for row in new.values() if row.is_native or row.is_external)

    def _write_assignments(self) -> None:
        if not self.role_lists:
            return
        wanted = {urn for urns in self.role_lists.values() for urn in urns}
        stored = {role.urn: role for role in Role.objects.filter(urn__in=wanted)}
        holders = [self.users.get(urn) or self.groups[urn] for urn in self.role_lists]
        targets = [(row, [stored[urn] for urn in self.role_lists[row.urn]]) for row in holders]
        roles.replace(targets=targets, held=roles.held_by(holders=holders), doing=self.doing)


def _kind_problems(one: AspectChange, row: Row | None, position: int) -> list[Problem]:
    """Say that an account stays what it is: else whoever manages services could make one of a person, and its token."""
    if one.name != documents.SUB_TYPES or not isinstance(row, User):
        return []
    is_service = row.kind == User.Kind.SERVICE
    if documents.is_service(one.document) == is_service:
        return []
    detail = (
        f"{row.name} is a service account and stays one."
        if is_service
        else f"{row.name} is a person; a service account is made as one, it is not made of a person."
    )
    return [Problem("user.kind", f"/{position}/typeNames", detail)]


def _is_ended(row: Row | None, before: Mapping[str, Any]) -> bool:
    was_in_force = not before["is_removed"] and before.get("state", User.State.ACTIVE) == User.State.ACTIVE
    is_in_force = row.is_active if isinstance(row, User) else row is not None and not row.is_removed
    return was_in_force and not is_in_force


def _listed(one: AspectChange) -> list[str]:
    return list((one.document or {}).get(documents.members_field(one.name)) or [])


def _facts(row: Row) -> dict[str, Any]:
    facts = user_services.facts(row) if isinstance(row, User) else groups.facts(row)
    return facts | {"aspects": documents.compose(row)}
