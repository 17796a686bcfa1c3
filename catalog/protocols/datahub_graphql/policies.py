"""Policies: listed, written and deleted as DataHub's pages and the Terraform provider do (clients.md 2.3 to 2.5).

Policies of another family than DataHub's are not listed here: their documents have no place in these types.
"""

from typing import Any

from ariadne import MutationType, QueryType
from django.utils import timezone

from catalog.ingest import deletes
from catalog.protocols.datahub_graphql import filters, paging, policy_types
from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import checked
from catalog.protocols.datahub_graphql.filters import Column
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.engine import families
from policies.engine.errors import Problem
from policies.engine.families import datahub
from policies.engine.model import Origin
from policies.errors import Invalid, NotFound
from policies.models import Policy
from policies.pdp import authorizer

query = QueryType()
mutation = MutationType()

_TYPE = "dataHubPolicy"

_FIELDS = {
    "urn": Column("urn"),
    "name": Column("name"),
    "displayName": Column("name"),
    "description": Column("description"),
    "type": Column("type"),
    "state": Column("state"),
    "editable": Column("is_editable", filters.FLAG),
}


@query.field("listPolicies")
def list_policies(_root: None, info: Info, *, input: dict[str, Any]) -> dict[str, Any]:
    """Return policies by URN; needs MANAGE_POLICIES."""
    authorizer.require(by=info.context.by, any_of=policies.MANAGE)
    rows = policy_queries.policies(q=paging.words(input), family=datahub.NAME)
    rows = rows.filter(filters.condition(input.get("orFilters"), _FIELDS))
    return paging.part(rows, input, "policies", lambda found: policy_types.many(found, info))


@mutation.field("createPolicy")
def create_policy(_root: None, info: Info, *, input: dict[str, Any]) -> str:
    """Store a new policy under a URN made here."""
    written = policies.create(draft=_draft(input), by=info.context.by, door=DOOR)
    info.context.is_policy_written = True
    made: str = written.policy.urn
    return made


@mutation.field("updatePolicy")
def update_policy(_root: None, info: Info, *, urn: str, input: dict[str, Any]) -> str:
    """Replace a policy, or store one under this URN where there is none."""
    authorizer.require(by=info.context.by, any_of=policies.MANAGE)
    try:
        stored = policy_queries.policy(urn=checked(urn, _TYPE))
    except NotFound:
        policies.create(draft=_draft(input), urn=urn, by=info.context.by, door=DOOR)
    else:
        _refuse_loss(stored)
        draft = _draft(input, stored)
        if not stored.is_editable and _says_the_same(stored, draft):
            draft = policies.put_in_state(stored, input["state"])
        policies.update(urn=urn, draft=draft, by=info.context.by, door=DOOR, if_version=stored.version)
    info.context.is_policy_written = True
    return urn


@mutation.field("deletePolicy")
def delete_policy(_root: None, info: Info, *, urn: str) -> str:
    """Delete a policy; one that nobody knows is deleted already."""
    deletes.delete(urn=checked(urn, _TYPE), by=info.context.by, door=DOOR)
    info.context.is_policy_written = True
    return urn


def _refuse_loss(stored: Policy) -> None:
    """Raise Invalid for a policy with fields that this mutation cannot send: without them it might grant more."""
    problems = [
        Problem(one.code, one.pointer, f"The policy has a field at {one.pointer} that updatePolicy would take out.")
        for one in families.get(stored.family).unknown(stored.document)
    ]
    if problems:
        raise Invalid(problems)


def _says_the_same(stored: Policy, draft: policies.Draft) -> bool:
    """Whether an input says what the policy says, but for its state: DataHub's pages send the whole to switch it."""
    family = families.get(stored.family)
    sides = []
    for document in (stored.document, policies.checked(draft)):
        columns = family.columns(document)
        statements = family.compile(family.activated(document), Origin("", ""))
        sides.append((columns["name"], columns["description"], columns["type"], statements))
    return sides[0] == sides[1]


def _draft(input: dict[str, Any], stored: Policy | None = None) -> policies.Draft:
    """Return the document of an input. Roles, which it cannot name, stay those that the policy has (clients.md 2.4)."""
    actors = _given(input["actors"])
    if stored is not None and stored.document.get("actors", {}).get("roles"):
        actors["roles"] = stored.document["actors"]["roles"]
    document = {
        "displayName": input["name"],
        "description": input.get("description") or "",
        "type": input["type"],
        "state": input["state"],
        "privileges": input["privileges"],
        "actors": actors,
        "editable": True,
        "lastUpdatedTimestamp": round(timezone.now().timestamp() * 1000),
    }
    if input.get("resources") is not None:
        document["resources"] = _given(input["resources"])
    return policies.Draft(datahub.NAME, document)


def _given(value: Any) -> Any:
    """Return an input without the members that are null, on every level."""
    if isinstance(value, dict):
        return {name: _given(one) for name, one in value.items() if one is not None}
    return [_given(one) for one in value] if isinstance(value, list) else value


BINDABLES = (query, mutation)
