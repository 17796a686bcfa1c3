"""Deleted names, taken out of what was given to them: the work of a task after a deletion.

A user, group or role leaves the actors of policies that allow something, as new versions, and stays in denies and
exclusions. Documents lose the names that refer to something deleted. One entry in the record of changes counts both.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from policies.authoring.services import policy_storage
from policies.models import ChangeEvent, Gate, Policy, Tombstone, Verb, open_write
from policies.models.people import MAX_NAME_LENGTH
from policies.models.writes import WriteTransaction
from policies.pdp.authorizer import SYSTEM
from policies.pdp.ports import references
from policies.writes import deleted_names

CHANNEL = "cleanup"

#: Lists of actors in the document of a policy.
_ACTOR_LISTS = ("users", "groups", "roles")

_POLICIES, _DOCUMENTS = "policies", "documents"


def remove_names(*, again: Collection[str] = ()) -> int:
    """Remove every deleted name that waits for it from what names it, and these of them `again`.

    Returns the number of names that something named. Additions by another write meanwhile are left to the next run.
    """
    names = set(Tombstone.objects.filter(is_pending=True).values_list("urn", flat=True)) | Tombstone.find(again)
    if not names:
        return 0
    document_counts = references().remove(urns=sorted(names), by=SYSTEM, channel=CHANNEL)
    with open_write(Gate.PEOPLE) as write:
        policy_counts = _remove_from_policies(names, write)
        events = [
            _build_event(name, policy_counts[name], document_counts.get(name, 0))
            for name in sorted(names)
            if policy_counts[name] or document_counts.get(name)
        ]
        write.record(events)
        still_named = references().find_named(urns=names)
        done = Tombstone.objects.filter(urn__among=sorted(names - still_named))
        done.filter(is_revived=True).delete()
        done.update(is_pending=False)
    return len(events)


def _remove_from_policies(names: Collection[str], write: WriteTransaction) -> Counter[str]:
    """Store new versions, without these names, of the policies that allow them something; count policies by name."""
    names_by_policy = deleted_names.list_allowing_policies(names)
    counts = Counter(name for policy_names in names_by_policy.values() for name in policy_names)
    if not names_by_policy:
        return counts
    version = write.bump_version()
    policies = list(Policy.objects.filter(pk__in=list(names_by_policy)).order_by("urn"))
    snapshots = {policy.urn: policy.build_snapshot() for policy in policies}
    for policy in policies:
        policy.document = _remove_actors(policy.document, names_by_policy[policy.pk])
        policy.version += 1
    policy_storage.store(changed_policies=policies, by=SYSTEM)
    policy_storage.record({Verb.UPDATED: policies}, version, before=snapshots, by=SYSTEM, channel=CHANNEL)
    return counts


def _remove_actors(document: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    actors = {
        key: [name for name in value if name not in names] if key in _ACTOR_LISTS and value else value
        for key, value in document["actors"].items()
    }
    return {**document, "actors": actors}


def _build_event(urn: str, policy_count: int, document_count: int) -> ChangeEvent:
    return ChangeEvent(
        object_urn=urn,
        name=urn[:MAX_NAME_LENGTH],
        verb=Verb.UPDATED,
        by=SYSTEM.urn,
        door=CHANNEL,
        before={"named_by": {_POLICIES: policy_count, _DOCUMENTS: document_count}},
        after={"named_by": {_POLICIES: 0, _DOCUMENTS: 0}},
    )
