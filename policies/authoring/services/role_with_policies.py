"""Creation of a role together with its assignment in policies."""

from collections.abc import Mapping, Sequence
from typing import Any

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.authoring.services.policies import PolicyWrite
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.identity.services import roles
from policies.models import Gate, Policy, Role, open_write
from policies.writes import required_privileges
from policies.writes.validation import Checks


def create(*, name: str, description: str, policy_urns: Sequence[str], by: Actor, channel: str) -> Role:
    """Store a new role and add it to the actors of these policies, all or nothing.

    Raises the errors of `roles.create` and `policies.write_many`, and Invalid naming every unknown policy.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    # Inside the write, so that nobody changes the policies that are looked up here.
    with open_write(Gate.PEOPLE):
        role = roles.create(name=name, description=description, by=by, channel=channel)
        policies_by_urn = {policy.urn: policy for policy in policy_queries.find_policies(urns=policy_urns)}
        checks = Checks()
        checks.validate_known(policy_urns, policies_by_urn, "/policyUrns", "policy")
        checks.finish()
        writes = [
            PolicyWrite(urn, _draft_with_role(role.urn, policy), policy.version)
            for urn, policy in policies_by_urn.items()
        ]
        if writes:
            policies.write_many(writes=writes, by=by, channel=channel)
    return role


def _draft_with_role(role: str, policy: Policy) -> PolicyInput:
    """Return the draft of a policy with one more role among its actors."""
    document: Mapping[str, Any] = policy.document
    if policy.family == datahub.NAME:
        actors = document.get("actors") or {}
        changes: dict[str, Any] = {"actors": {**actors, "roles": [*(actors.get("roles") or ()), role]}}
    else:
        changes = {"roles": [*(document.get("roles") or ()), role]}
    return PolicyInput(
        policy.family,
        {**document, **changes},
        state=policy.state,
        description=policy.description,
        keeps_unknown=policy.state != Policy.State.ACTIVE,
    )
