"""Events that follow from a row of the change log: one for each person, role, grant or object that it is about.

A row holds states before and after; an event says what became of one thing, and copies only the values named here, so
that it never holds a secret or a document. Rows about documents of the catalog yield no event.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from policies.models.event import CLOCK_CHANNEL, ChangeEvent, PolicyEvent, Verb
from policies.models.fields import JsonText
from policies.models.guardrail import GUARDRAIL_PREFIX
from policies.models.links import INVITE_PREFIX
from policies.models.outbox import EventType, OutboxEvent, build_event
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX

#: Kinds of objects whose row is one event, by the prefix of their URN.
_NOUNS = {
    USER_PREFIX: "user",
    GROUP_PREFIX: "group",
    ROLE_PREFIX: "role",
    GUARDRAIL_PREFIX: "guardrail",
    POLICY_PREFIX: "policy",
    INVITE_PREFIX: "invitation",
}

_WORDS = {
    Verb.CREATED: "created",
    Verb.UPDATED: "updated",
    Verb.DELETED: "deleted",
    Verb.ACTIVATED: "activated",
    Verb.SUSPENDED: "suspended",
    Verb.PASSWORD_SET: "password_set",
    Verb.RESET_CREATED: "reset_created",
    Verb.INVITE_CREATED: "created",
    Verb.INVITE_REVOKED: "revoked",
}

_POLICY_TYPES = {
    Verb.CREATED: EventType.POLICY_CREATED,
    Verb.UPDATED: EventType.POLICY_UPDATED,
    Verb.RESTORED: EventType.POLICY_UPDATED,
    Verb.DELETED: EventType.POLICY_DELETED,
}

#: What became of something that is given for a time: the types of a noun, in this order.
_GIVEN_TYPES = {
    "membership": (EventType.MEMBERSHIP_ADDED, EventType.MEMBERSHIP_REMOVED, EventType.MEMBERSHIP_ENDED),
    "role": (EventType.ROLE_ASSIGNED, EventType.ROLE_UNASSIGNED, EventType.ROLE_ENDED),
    "grant": (EventType.GRANT_ADDED, EventType.GRANT_REMOVED, EventType.GRANT_ENDED),
}

#: What became of one thing: its type, the URN of its holder, and its data.
_Outcome = tuple[str, str, dict[str, Any]]


def derive_from_policy(row: PolicyEvent) -> OutboxEvent:
    """Return the event of a write to a policy."""
    state = (row.after or row.before or {}).get("state")
    data = {"name": row.name, "family": row.family, "version": row.version, "policy_version": row.policy_version}
    data |= {"state": row.verb if row.verb in (Verb.BEGAN, Verb.ENDED) else state}
    if row.verb == Verb.RESTORED:
        data |= {"is_restored": True}
    type_ = _POLICY_TYPES.get(Verb(row.verb), EventType.POLICY_STATE)
    return build_event(type_, subject=row.policy_urn, actor=row.by, through=row.door, data=data, time=row.at)


def derive_from_change(row: ChangeEvent) -> Iterator[OutboxEvent]:
    """Yield the events of a write to users, groups, roles, tokens, grants or guardrails; none for other objects."""
    if isinstance(row.before, JsonText) or isinstance(row.after, JsonText):
        # Documents of the catalog, which are recorded as they arrived.
        return
    for type_, subject, data in _list_outcomes(row, row.before or {}, row.after or {}):
        yield build_event(type_, subject=subject, actor=row.by, through=row.door, data=data, time=row.at)


def _list_outcomes(row: ChangeEvent, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterable[_Outcome]:
    match row.verb:
        case Verb.MEMBERS_CHANGED:
            return _list_memberships(row, before, after)
        case Verb.ROLES_CHANGED:
            outcomes = _compare(row, "role", "roles", before, after)
            return ((type_, row.object_urn, {"role": role} | data) for type_, role, data in outcomes)
        case Verb.TOKEN_CREATED:
            return [(EventType.TOKEN_CREATED, row.object_urn, _describe_token(after))]
        case Verb.TOKEN_REVOKED:
            return [(EventType.TOKEN_REVOKED, row.object_urn, _describe_token(before))]
        case _:
            is_grant = "principal" in before or "principal" in after
            return (_compare_grants if is_grant else _describe_object)(row, before, after)


def _list_memberships(row: ChangeEvent, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[_Outcome]:
    """Yield the memberships of a group, or of a user, that a row is about."""
    if row.object_urn.startswith(GROUP_PREFIX):
        group = {"group": row.object_urn, "group_name": row.name}
        for type_, user, data in _compare(row, "membership", "members", before, after):
            yield type_, user, group | data
    else:
        for type_, group_urn, data in _compare(row, "membership", "groups", before, after):
            yield type_, row.object_urn, {"group": group_urn} | data


def _compare(
    row: ChangeEvent, noun: str, names: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[_Outcome]:
    """Yield what became of each holder or role in the lists `names`, and of the times and what is scheduled."""
    new_times = after.get("times", {})
    if names in after:
        added_type, removed_type, ended_type = _GIVEN_TYPES[noun]
        old_names, new_names = before.get(names, ()), after[names]
        lost_type = ended_type if row.door == CLOCK_CHANNEL else removed_type
        yield from ((lost_type, name, {}) for name in old_names if name not in new_names)
        yield from ((added_type, name, dict(new_times.get(name, {}))) for name in new_names if name not in old_names)
    else:
        old_times = before.get("times", {})
        for name, times in new_times.items():
            yield f"{noun}.changed", name, {**times, "before": old_times.get(name, {})}
    yield from _compare_plans(noun, before.get("scheduled", {}), after.get("scheduled", {}), after.get("dropped", {}))


def _compare_plans(
    noun: str, before: Mapping[str, Any], after: Mapping[str, Any], dropped: Mapping[str, str]
) -> Iterator[_Outcome]:
    """Yield what is scheduled anew, and what will not begin; `dropped` says why."""
    for name, times in after.items():
        if times != before.get(name):
            yield f"{noun}.scheduled", name, dict(times)
    for name in before:
        if name not in after:
            yield f"{noun}.cancelled", name, {"because": dropped[name]} if name in dropped else {}


def _compare_grants(row: ChangeEvent, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[_Outcome]:
    principal = after.get("principal") or before["principal"]
    entity, times = {"entity": row.object_urn}, after.get("times", {})
    if "privileges" in after:
        for type_, names in _compare_privileges(row, before.get("privileges", ()), after["privileges"]):
            yield type_, principal, entity | {"privileges": names}
    elif planned := after.get("scheduled"):
        yield EventType.GRANT_SCHEDULED, principal, entity | {"privileges": planned} | times
    elif "scheduled" in before:
        because = {"because": after["dropped"]} if "dropped" in after else {}
        yield EventType.GRANT_CANCELLED, principal, entity | {"privileges": before["scheduled"]} | because
    elif times:
        yield EventType.GRANT_CHANGED, principal, entity | times


def _compare_privileges(
    row: ChangeEvent, before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    added_type, removed_type, ended_type = _GIVEN_TYPES["grant"]
    if lost := [name for name in before if name not in after]:
        yield ended_type if row.door == CLOCK_CHANNEL else removed_type, lost
    if added := [name for name in after if name not in before]:
        yield added_type, added


def _describe_token(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facts.get(name) for name in ("id", "name", "expires_at")}


def _describe_object(row: ChangeEvent, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[_Outcome]:
    """Yield the event of an object that is written as one: its name, and the names of the fields that differ."""
    noun = next((noun for prefix, noun in _NOUNS.items() if row.object_urn.startswith(prefix)), None)
    word = _WORDS.get(Verb(row.verb))
    # What a deletion removes from other objects is recorded of these, too.
    if noun is None or word is None or "named_by" in after:
        return
    data: dict[str, Any] = {"name": row.name}
    if row.verb == Verb.UPDATED:
        data["changed"] = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    yield f"{noun}.{word}", row.object_urn, data
