"""Policies, memberships and roles that have not begun or have ended, for explanations. Nothing is decided by them."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db.models import F

from policies.engine import families
from policies.engine.families.validity import Phase
from policies.engine.model import StatementOrigin
from policies.engine.near_misses import OtherTime
from policies.engine.snapshot import Snapshot
from policies.models import ChangeEvent, Policy, ScheduledMembership, ScheduledRoleAssignment, Verb
from policies.models.event import CLOCK_CHANNEL
from policies.models.people import GROUP_PREFIX
from policies.models.roles import ROLE_PREFIX

#: Most policies that an explanation looks at, those that ended last first, and most events of ends.
_MAX_POLICIES = 200
_MAX_EVENTS = 500


class TimedPolicies(NamedTuple):
    """Policies that are active and count at other times: their statements, and policy URN → that time."""

    snapshot: Snapshot
    times: Mapping[str, OtherTime]


def load_timed_policies() -> TimedPolicies:
    """Load the policies that count at other times, up to a limit; one query."""
    rows = Policy.objects.filter(state=Policy.State.ACTIVE).exclude(phase=Phase.CURRENT)
    policies = list(rows.order_by(F("valid_until").desc(nulls_last=True), "urn")[:_MAX_POLICIES])
    statements = [
        (policy.urn, families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name)))
        for policy in policies
    ]
    instants = [
        (policy, policy.valid_until if policy.phase == Phase.ENDED else policy.valid_from) for policy in policies
    ]
    times = {
        policy.urn: OtherTime("", instant, is_past=policy.phase == Phase.ENDED)
        for policy, instant in instants
        if instant is not None
    }
    return TimedPolicies(Snapshot.build(0, statements), times)


def load_timed_ways(*, actors: Collection[str], tokens: Collection[str]) -> dict[tuple[str, str], OtherTime]:
    """Return (user URN, group or role URN) → when that begins, else when it last ended by itself.

    `tokens` are those of the groups and roles that are asked about. At most four queries.
    """
    groups = [token for token in tokens if token.startswith(GROUP_PREFIX)]
    roles = [token for token in tokens if token.startswith(ROLE_PREFIX)]
    ways: dict[tuple[str, str], OtherTime] = {}
    for user, urn, instant in (*_iterate_ended(groups, actors, "members"), *_iterate_ended(actors, roles, "roles")):
        ways.setdefault((user, urn), OtherTime(urn, instant, is_past=True))
    memberships = ScheduledMembership.objects.filter(user__urn__in=actors, group__profile__urn__in=groups)
    assignments = ScheduledRoleAssignment.objects.filter(user__urn__in=actors, role__urn__in=roles)
    for rows, column in ((memberships, "group__profile__urn"), (assignments, "role__urn")):
        for user, urn, instant in rows.values_list("user__urn", column, "valid_from"):
            ways[user, urn] = OtherTime(urn, instant, is_past=False)
    return ways


def load_ended_grants(*, entities: Collection[str]) -> dict[tuple[str, str, str], datetime]:
    """Return (principal, entity, privilege) → when a grant last ended by itself; one query."""
    events = ChangeEvent.objects.filter(object_urn__in=entities, door=CLOCK_CHANNEL, verb=Verb.UPDATED)
    ended: dict[tuple[str, str, str], datetime] = {}
    for event in events.order_by("-id")[:_MAX_EVENTS]:
        before, after = event.before or {}, event.after or {}
        for privilege in set(before.get("privileges", ())).difference(after.get("privileges", ())):
            ended.setdefault((str(before.get("principal")), event.object_urn, privilege), event.at)
    return ended


def _iterate_ended(objects: Collection[str], parts: Collection[str], key: str) -> Iterable[tuple[str, str, datetime]]:
    """Yield user, group or role, and time of the ends that events of these objects record, the latest first.

    `parts` are the values of their list `key` that are asked about: members of a group, or roles of a user.
    """
    if not objects or not parts:
        return
    events = ChangeEvent.objects.filter(
        object_urn__in=objects, door=CLOCK_CHANNEL, verb__in=(Verb.MEMBERS_CHANGED, Verb.ROLES_CHANGED)
    )
    for event in events.order_by("-id")[:_MAX_EVENTS]:
        for part in set((event.before or {}).get(key, ())).difference((event.after or {}).get(key, ())) & set(parts):
            user, urn = (part, event.object_urn) if key == "members" else (event.object_urn, part)
            yield user, urn, event.at
