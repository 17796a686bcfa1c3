"""Whether what requests gave is still there: the changes that were written, compared with what is stored now.

A constant number of queries for any number of items. Only the changes are compared: a later deny takes nothing
away of what was given.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from policies.authoring.services import policy_drafts
from policies.engine.families import datazone
from policies.engine.ports import GrantsByEntity
from policies.engine.selectors import OWNER, Resource
from policies.models import Membership, Policy, RequestItem, RoleAssignment
from policies.pdp import authorizer
from policies.pdp.ports import facet_source
from policies.requests.request_sources import WAREHOUSE, load_source

Changes = Sequence[Mapping[str, Any]]

#: Kind of a change → the field of its value with the thing that it changes.
_SUBJECTS: Mapping[str, str] = {
    "put_policy": "urn",
    "add_members": "group",
    "assign_roles": "role",
    "grant": "entity",
    "add_owners": "entity",
    "remove_owners": "entity",
    "add_exceptions": "policy",
    "remove_exceptions": "policy",
    "assign_external_role": "role",
    "unassign_external_role": "role",
}


class GivenThing(NamedTuple):
    """A change that gave somebody something: what it changed (a URN), who got it, and the names that it wrote.

    Of these names one stands in the change log before it was taken away, and no longer after that.
    """

    subject: str
    actor: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class GivenFacts:
    """The stored state of the things that changes name."""

    policies: Mapping[str, Policy]
    memberships: frozenset[tuple[str, str]]
    roles: frozenset[tuple[str, str]]
    resources: Mapping[str, Resource]
    grants: GrantsByEntity
    declared: Mapping[str, Collection[str]]

    @classmethod
    def load(cls, changes: Iterable[Mapping[str, Any]], actors: Collection[str]) -> "GivenFacts":
        """Return the facts about these changes, for these people (URNs)."""
        subjects: dict[str, set[str]] = {kind: set() for kind in _SUBJECTS}
        for kind, value in (entry for change in changes for entry in change.items()):
            if kind in subjects:
                subjects[kind].add(value.get(_SUBJECTS[kind], ""))
        policy_urns = subjects["put_policy"] | subjects["add_exceptions"] | subjects["remove_exceptions"]
        owned_urns = subjects["add_owners"] | subjects["remove_owners"]
        external_urns = subjects["assign_external_role"] | subjects["unassign_external_role"]
        members = Membership.objects.filter(group__profile__urn__in=subjects["add_members"], user__urn__in=actors)
        holders = RoleAssignment.objects.filter(role__urn__in=subjects["assign_roles"], user__urn__in=actors)
        return cls(
            {policy.urn: policy for policy in Policy.objects.filter(urn__in=policy_urns)},
            frozenset(members.order_by().values_list("user__urn", "group__profile__urn")),
            frozenset(holders.order_by().values_list("user__urn", "role__urn")),
            facet_source().load(urns=owned_urns, fields={OWNER}) if owned_urns else {},
            authorizer.load_grants(urns=subjects["grant"]) if subjects["grant"] else {},
            load_source(WAREHOUSE).load_declared(targets=external_urns) if external_urns else {},
        )

    def is_there(self, kind: str, value: Mapping[str, Any], actor: str) -> bool:
        """Return whether what a change gave an actor is there; what is given by nobody here counts as there."""
        subject = value.get(_SUBJECTS.get(kind, ""), "")
        match kind:
            case "put_policy" | "add_exceptions" | "remove_exceptions":
                return self._is_in_policy(kind, self.policies.get(subject), value, actor)
            case "add_members":
                return (actor, subject) in self.memberships
            case "assign_roles":
                return (actor, subject) in self.roles
            case "grant":
                statements = self.grants.get(subject, {}).get(actor, ())
                return set(value["privileges"]) <= {name for statement in statements for name in statement.privileges}
            case _:
                return self._is_in_document(kind, subject, actor)

    def _is_in_policy(self, kind: str, policy: Policy | None, value: Mapping[str, Any], actor: str) -> bool:
        is_active = policy is not None and policy.state == Policy.State.ACTIVE
        if kind == "put_policy":
            return policy is not None and is_active and _gives(policy, value["document"], actor)
        is_excepted = policy is not None and actor in policy_drafts.list_exceptions(policy)
        # A policy that denies nobody any more needs no exceptions.
        return is_excepted or (kind == "add_exceptions" and not is_active)

    def _is_in_document(self, kind: str, subject: str, actor: str) -> bool:
        if kind in ("add_owners", "remove_owners"):
            return any(owner.actor == actor for owner in self.resources[subject].owners)
        is_external = kind in ("assign_external_role", "unassign_external_role")
        return not is_external or actor in self.declared.get(subject, ())


def _gives(policy: Policy, document: Mapping[str, Any], actor: str) -> bool:
    """Return whether a policy still gives what was written: to the actor, or to the roles of a Datazone policy."""
    if policy.family == datazone.NAME:
        statements, roles = policy.document["statements"], policy.document.get("roles") or ()
        has_roles = set(document["roles"]) <= set(roles)
        return has_roles and all(statement in statements for statement in document["statements"])
    users = (policy.document.get("actors") or {}).get("users") or ()
    return actor in users and set(document["privileges"]) <= set(policy.document["privileges"])


def find_taken(items: Sequence[RequestItem]) -> dict[int, GivenThing]:
    """Return the items (their keys) of which something is gone, each with the first thing of it that is."""
    facts = GivenFacts.load(
        [change for item in items for change in list_changes(item)], {item.request.actor for item in items}
    )
    things: dict[int, GivenThing] = {}
    for item in items:
        actor = item.request.actor
        for kind, value in (entry for change in list_changes(item) for entry in change.items()):
            if not facts.is_there(kind, value, actor):
                things.setdefault(item.pk, _describe(kind, value, actor))
    return things


def _describe(kind: str, value: Mapping[str, Any], actor: str) -> GivenThing:
    subject = value[_SUBJECTS[kind]]
    # The log of grants names their holder before and after.
    return GivenThing(subject, actor, frozenset(value["privileges"] if kind == "grant" else (subject, actor)))


def list_changes(item: RequestItem) -> Changes:
    """Return the changes that gave an item: those that were written, or those that its source made."""
    changes: Changes = (item.granted or item.way or {}).get("changes", ())
    return changes


def select_there(changes: Changes, actor: str) -> list[Mapping[str, Any]]:
    """Return those of the changes that take something back which is there."""
    facts = GivenFacts.load(changes, {actor})
    return [change for change in changes if all(facts.is_there(kind, value, actor) for kind, value in change.items())]
