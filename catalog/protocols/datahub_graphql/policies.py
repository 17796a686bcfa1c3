"""Policies: list, write and delete for DataHub's pages and the Terraform provider (clients.md 2.3 to 2.5).

Only policies of the DataHub family are listed: documents of other families do not fit these types.
"""

from typing import Any

from ariadne import MutationType, QueryType
from django.utils import timezone

from catalog.ingest import deletes
from catalog.protocols import search_filters
from catalog.protocols.datahub_graphql import paging, policy_types
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import validate_urn
from catalog.protocols.policy_filters import POLICY_FIELDS
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.engine import families
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.engine.model import StatementOrigin
from policies.errors import Invalid, NotFound
from policies.models import Policy
from policies.pdp import authorizer

query = QueryType()
mutation = MutationType()

_POLICY_TYPE = "dataHubPolicy"


@query.field("listPolicies")
def list_policies(_root: None, info: Info, *, input: dict[str, Any]) -> dict[str, Any]:
    """Return a page of policies, by URN. Raises Forbidden without MANAGE_POLICIES."""
    authorizer.require(by=info.context.by, any_of=policies.MANAGE_POLICIES)
    rows = policy_queries.list_policies(q=paging.query_words(input), family=datahub.NAME)
    rows = rows.filter(search_filters.build_condition(input.get("orFilters"), POLICY_FIELDS))
    return paging.load_page(rows, input, "policies", lambda page_rows: policy_types.render_policies(page_rows, info))


@mutation.field("createPolicy")
def create_policy(_root: None, info: Info, *, input: dict[str, Any]) -> str:
    """Create a policy under a generated URN and return that URN."""
    result = policies.create(draft=_build_draft(input), by=info.context.by, channel=CHANNEL)
    info.context.is_policy_written = True
    urn: str = result.policy.urn
    return urn


@mutation.field("updatePolicy")
def update_policy(_root: None, info: Info, *, urn: str, input: dict[str, Any]) -> str:
    """Replace a policy, or create one under this URN if there is none; returns the URN."""
    authorizer.require(by=info.context.by, any_of=policies.MANAGE_POLICIES)
    try:
        policy = policy_queries.get_policy(urn=validate_urn(urn, _POLICY_TYPE))
    except NotFound:
        policies.create(draft=_build_draft(input), urn=urn, by=info.context.by, channel=CHANNEL)
    else:
        _refuse_loss(policy)
        draft = _build_draft(input, policy)
        if not policy.is_editable and _is_unchanged(policy, draft):
            draft = policy_drafts.draft_with_state(policy, input["state"])
        policies.update(urn=urn, draft=draft, by=info.context.by, channel=CHANNEL, if_version=policy.version)
    info.context.is_policy_written = True
    return urn


@mutation.field("deletePolicy")
def delete_policy(_root: None, info: Info, *, urn: str) -> str:
    """Delete a policy; deleting an unknown one succeeds."""
    deletes.delete(urn=validate_urn(urn, _POLICY_TYPE), by=info.context.by, channel=CHANNEL)
    info.context.is_policy_written = True
    return urn


def _refuse_loss(policy: Policy) -> None:
    """Raise Invalid for a policy with fields that this mutation cannot send: without them it might grant more."""
    problems = [
        Problem(
            unknown_field.code,
            unknown_field.pointer,
            f"The policy has a field at {unknown_field.pointer} that updatePolicy would take out.",
        )
        for unknown_field in families.get(policy.family).unknown_fields(policy.document)
    ]
    if problems:
        raise Invalid(problems)


def _is_unchanged(policy: Policy, draft: policy_drafts.PolicyInput) -> bool:
    """Whether a draft equals the policy but for its state: DataHub's pages send the whole policy to switch it."""
    family = families.get(policy.family)
    sides = []
    for document in (policy.document, policy_drafts.validate_draft(draft)):
        columns = family.column_values(document)
        statements = family.compile(family.as_active(document), StatementOrigin("", ""))
        sides.append((columns["name"], columns["description"], columns["type"], statements))
    return sides[0] == sides[1]


def _build_draft(input: dict[str, Any], policy: Policy | None = None) -> policy_drafts.PolicyInput:
    """Return an input as a draft. Roles, which it cannot contain, stay those of the policy (clients.md 2.4).

    So do the fields of ours that it leaves out; one that is null is cleared.
    """
    actors = input["actors"]
    if policy is not None and policy.document.get("actors", {}).get("roles"):
        actors = {**actors, "roles": policy.document["actors"]["roles"]}
    document: dict[str, Any] = {
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
        document["resources"] = input["resources"]
    document |= {name: input[name] for name in datahub_fields.OWN_FIELDS if name in input}
    if policy is not None:
        document = datahub_fields.keep_own_fields(document, policy.document)
    return policy_drafts.PolicyInput(datahub.NAME, policy_types.without_nulls(document))


BINDABLES = (query, mutation)
