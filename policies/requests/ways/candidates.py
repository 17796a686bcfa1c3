"""Candidates for ways: changes that could give what was refused, not yet worked out."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from policies.authoring.queries import policies as policy_queries
from policies.engine.families.datahub_fields import VALID_UNTIL
from policies.engine.missing_tokens import MissingTokens, find_missing_tokens
from policies.engine.model import Question
from policies.engine.requirements import privilege_requirement
from policies.models import GroupProfile, Policy, Role
from policies.models.fields import filter_storable
from policies.models.people import GROUP_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.request_sources import IDENTITY
from policies.requests.ways import own_statements
from policies.requests.ways.asked_items import AskedAccess, AskedHolding, AskedItem, Giver
from policies.requests.ways.own_names import name_own

#: Most groups, most roles and most ownership types of which candidates are made: each takes half a second to work out.
MAX_TOKENS = 1

#: Members of changes and documents that say when something ends, or what it is called.
_PASSING_FIELDS = frozenset(("valid_until", VALID_UNTIL, "name", "displayName"))

#: Changes as JSON, kind -> value, as `POST /api/v1/preview` takes them.
Changes = tuple[Mapping[str, Any], ...]


class WayKind(StrEnum):
    """The kinds of ways: a policy for this alone, a place among others, or an exception from a refusal."""

    POLICY = "policy"
    MEMBERSHIP = "membership"
    ROLE = "role"
    OWNER = "owner"
    GRANT = "grant"
    STATEMENT = "statement"
    EXCEPTION = "exception"
    EXTERNAL_ROLE = "external_role"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Changes of a kind; `source` names the system that owns who has what they give, if it is not this one."""

    kind: WayKind
    changes: Changes
    source: str | None = None

    @property
    def id(self) -> str:
        """A hash of the changes without their end, the same wherever they are worked out.

        Names of what is new are no part of it: they are made of names that not everybody may read.
        """
        changes = [{kind: _keep_essence(value) for kind, value in change.items()} for change in self.changes]
        text = json.dumps([self.kind, changes, self.source], sort_keys=True, separators=(",", ":"))
        return f"w{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def list_own(item: AskedItem, until: datetime | None) -> list[Candidate]:
    """Return the candidate that gives what is missing and nothing else, if policies or grants can say it."""
    if not isinstance(item, AskedAccess) or item.denies:
        return []
    changes = _build_own(item, until)
    return [Candidate(_find_own_kind(item), changes)] if changes else []


def _find_own_kind(item: AskedAccess) -> WayKind:
    """Return the kind of what gives an item by itself: with several families that of the first of these."""
    givers = (Giver.POLICY, WayKind.POLICY), (Giver.STATEMENT, WayKind.STATEMENT)
    return next((kind for giver, kind in givers if item.select_places(giver)), WayKind.GRANT)


def list_others(item: AskedItem, until: datetime | None) -> list[Candidate]:
    """Return the other candidates, those that need no new policy; where it is denied, the exceptions alone.

    Groups, roles and owners are those by which the first missing privilege would be given.
    """
    if isinstance(item, AskedHolding):
        return [
            *_list_memberships(item, [item.urn] if item.urn.startswith(GROUP_PREFIX) else [], until),
            *_list_roles(item, [item.urn] if item.urn.startswith(ROLE_PREFIX) else [], until),
        ]
    if not isinstance(item, AskedAccess):
        return []
    if item.denies:
        return _list_exceptions(item, until)
    tokens = _find_tokens(item)
    return [
        *_list_memberships(item, tokens.groups, until),
        *_list_roles(item, tokens.roles, until),
        *_list_owners(item, tokens.owner_types),
    ]


def _build_own(item: AskedAccess, until: datetime | None) -> Changes:
    """Return the changes that give what is missing and nothing else; none where nothing can say it."""
    if not item.is_givable:
        return ()
    policies, grants = item.select_places(Giver.POLICY), item.select_places(Giver.GRANT)
    statements = own_statements.build_changes(item, until)
    if statements is None:
        return ()
    return (
        *(put_policy(None, _build_document(item, entity, names), until) for entity, names in policies.items()),
        *statements,
        *(_grant(item.actor.urn, entity, names, until) for entity, names in grants.items()),
    )


def _build_document(item: AskedAccess, entity: str | None, privileges: Sequence[str]) -> dict[str, Any]:
    criteria = [{"field": "URN", "condition": "EQUALS", "values": [entity]}]
    return {
        "displayName": name_own(item.actor, privileges, entity),
        "description": "",
        "type": "METADATA" if entity else "PLATFORM",
        "state": "ACTIVE",
        "editable": True,
        "privileges": list(privileges),
        "actors": {"users": [item.actor.urn]},
    } | ({"resources": {"filter": {"criteria": criteria}}} if entity else {})


def put_policy(policy: Policy | None, document: Mapping[str, Any], until: datetime | None) -> dict[str, Any]:
    """Return the change that stores a document, as a new policy or in place of a stored one, with this end."""
    # DataHub's documents hold their own end.
    ended_document = document if until is None else {**document, VALID_UNTIL: until.isoformat()}
    value: dict[str, Any] = {"family": "datahub", "document": ended_document}
    return {"put_policy": ({} if policy is None else {"urn": policy.urn}) | value}


def _grant(principal: str, entity: str | None, privileges: Sequence[str], until: datetime | None) -> dict[str, Any]:
    value: dict[str, Any] = {"principal": principal, "entity": entity, "privileges": list(privileges)}
    return {"grant": value | end_of(until)}


def _keep_essence(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value of a change, or a document, without its end and its name."""
    kept_fields = {name: item for name, item in value.items() if name not in _PASSING_FIELDS}
    return kept_fields | ({"document": _keep_essence(kept_fields["document"])} if "document" in kept_fields else {})


def end_of(until: datetime | None) -> dict[str, str]:
    """Return the member of a change that says when what it gives ends; none for good."""
    return {} if until is None else {"valid_until": until.isoformat()}


def _find_tokens(item: AskedAccess) -> MissingTokens:
    """Return what the actor could become for the first missing privilege."""
    missing = item.decision.missing[0]
    snapshot = snapshot_store.get_current()
    resource_ref = ResourceRef(missing.entity) if missing.entity else None
    subresources = item.request.subresources if len(item.decision.missing) == 1 else ()
    request = AccessRequest(privilege_requirement(missing.privilege), resource_ref, subresources)
    resource, touched = authorizer.load_request_facts(requests=[request], snapshot=snapshot)(request)
    return find_missing_tokens(snapshot, Question(item.actor, missing.privilege, resource, touched), MAX_TOKENS)


def _list_memberships(item: AskedItem, groups: Sequence[str], until: datetime | None) -> Iterator[Candidate]:
    known_rows = {group.urn: group for group in GroupProfile.objects.filter(urn__in=filter_storable(groups))}
    for urn in groups:
        group = known_rows.get(urn)
        if group is None or group.is_removed:
            continue
        source = IDENTITY if group.origin == GroupProfile.Origin.EXTERNAL else None
        value = {"group": urn, "members": [item.actor.urn]} | end_of(until)
        yield Candidate(WayKind.MEMBERSHIP, ({"add_members": value},), source)


def _list_roles(item: AskedItem, roles: Sequence[str], until: datetime | None) -> Iterator[Candidate]:
    known_rows = set(Role.objects.filter(urn__in=filter_storable(roles)).values_list("urn", flat=True))
    for urn in roles:
        if urn in known_rows:
            value = {"role": urn, "actors": [item.actor.urn]} | end_of(until)
            yield Candidate(WayKind.ROLE, ({"assign_roles": value},))


def _list_owners(item: AskedAccess, owner_types: Sequence[str]) -> Iterator[Candidate]:
    entity = item.decision.missing[0].entity
    for owner_type in owner_types if entity else ():
        owner = {"owner": item.actor.urn} | ({"type": owner_type} if owner_type else {})
        yield Candidate(WayKind.OWNER, ({"add_owners": {"entity": entity, "owners": [owner]}},))


def _list_exceptions(item: AskedAccess, until: datetime | None) -> list[Candidate]:
    """Return the actor as an exception of every policy that denies it, alone and with a policy of its own.

    None where a policy denies it that cannot except anybody: one that cannot be changed, or of another family.
    """
    urns = {statement.origin.policy for statement in item.denies}
    policies = policy_queries.find_policies(urns=sorted(urns))
    if len(policies) < len(urns) or not all(_can_except(policy) for policy in policies):
        return []
    exceptions = tuple({"add_exceptions": {"policy": policy.urn, "actors": [item.actor.urn]}} for policy in policies)
    own = _build_own(item, until)
    return [Candidate(WayKind.EXCEPTION, changes) for changes in (exceptions, *([(*exceptions, *own)] if own else []))]


def _can_except(policy: Policy) -> bool:
    return policy.family == Policy.Family.DATAHUB and policy.is_editable and policy.state == Policy.State.ACTIVE
