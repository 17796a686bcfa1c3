"""Changes of who is in a group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from policies.changes.kinds import Change, ShapeField, join_names
from policies.changes.people import GAINED, LOST, Holding
from policies.changes.worlds import StagedWorld
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.timed_holders import InstantField
from policies.identity.changes.endings import describe_end, locate_holder_problem, make_holders
from policies.identity.services import groups
from policies.identity.services.groups import MAX_MEMBERS
from policies.models import Membership
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX, USER_PREFIX


class MemberChangeIn(strict_fields.StrictSerializer):
    """Users who would leave a group."""

    group = strict_fields.StrictUrn(prefixes=(GROUP_PREFIX,))
    members = strict_fields.StrictUrnList(USER_PREFIX, max_length=MAX_MEMBERS)


class MemberAdditionIn(MemberChangeIn):
    """Users who would enter a group, until an end if one is given."""

    valid_until = InstantField(help_text="Their membership ends at this time.")


class MemberChange(Change):
    """A change of members of one group."""

    subject_pointer = "/group"
    group: str
    members: Sequence[str]

    @property
    def subject(self) -> str:
        """The URN of the group."""
        return self.group

    def list_urns(self) -> list[str]:
        """Return the group and the users."""
        return [self.group, *self.members]

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of a member with its place: the end is the same for all."""
        return locate_holder_problem(problem, "/members")

    def list_native_members(self) -> "dict[str, Membership]":
        """Return those of the users who are members by this product now, by URN, with their memberships."""
        rows = Membership.objects.filter(group__profile__urn=self.group, user__urn__in=filter_storable(self.members))
        return {row.user.urn: row for row in rows.filter(is_native=True).select_related("user")}


@dataclass(frozen=True, slots=True)
class AddMembers(MemberChange):
    """Users enter a group, until an end if one is given; without one, those who are members stay as long as they do."""

    kind: ClassVar[str] = "add_members"
    group: str
    members: Sequence[str]
    valid_until: datetime | None = None

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a group, users and an end."""
        return MemberAdditionIn(**kwargs)

    def stage(self, world: StagedWorld) -> None:
        """Stage the users as members."""
        holders = make_holders(self.members, self.valid_until)
        groups.require_member_change(urn=self.group, members=holders, by=world.by)
        addition = groups.check_addition(urn=self.group, members=holders, by=world.by)
        lasting_urns = frozenset[str]()
        if self.valid_until is not None:
            rows = Membership.objects.filter(group=addition.group.group_id, user__in=addition.users.values())
            lasting_urns = frozenset(rows.filter(is_external=True).values_list("user__urn", flat=True))
        for urn in addition.users:
            is_timed = urn not in lasting_urns
            world.people.memberships[urn][self.group] = (
                Holding(is_held=True, ends=self.valid_until) if is_timed else GAINED
            )

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:
        """Add the members."""
        holders = make_holders(self.members, self.valid_until, reason)
        groups.add_members(urn=self.group, members=holders, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the removal of those who are not members now."""
        known_members = self.list_native_members()
        new_urns = [urn for urn in dict.fromkeys(self.members) if urn not in known_members]
        return [RemoveMembers(self.group, new_urns)] if new_urns else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the users and the group."""
        people, end = join_names(self.members, names), describe_end(self.valid_until)
        return f"Add {people} to the group {join_names([self.group], names)}{end}."


@dataclass(frozen=True, slots=True)
class RemoveMembers(MemberChange):
    """Users leave a group; those whom its identity source put there stay."""

    kind: ClassVar[str] = "remove_members"
    group: str
    members: Sequence[str]

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a group and users."""
        return MemberChangeIn(**kwargs)

    def stage(self, world: StagedWorld) -> None:
        """Stage the group without the users."""
        groups.require_member_change(urn=self.group, members=self.members, by=world.by)
        group = groups.get_native_group(self.group)
        urns = filter_storable(self.members)
        rows = Membership.objects.filter(group=group.group_id, user__urn__in=urns, is_external=True)
        staying_urns = set(rows.values_list("user__urn", flat=True))
        for urn in urns:
            if urn not in staying_urns:
                world.people.memberships[urn][self.group] = LOST

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - nothing keeps the reason
        """Remove the members."""
        groups.remove_members(urn=self.group, members=self.members, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the additions of those who are members now, with the ends that they have."""
        urns_by_end: dict[datetime | None, list[str]] = {}
        for urn, row in self.list_native_members().items():
            urns_by_end.setdefault(row.valid_until, []).append(urn)
        return [AddMembers(self.group, urns, end) for end, urns in urns_by_end.items()]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the users and the group."""
        return f"Remove {join_names(self.members, names)} from the group {join_names([self.group], names)}."


KINDS = (AddMembers, RemoveMembers)
