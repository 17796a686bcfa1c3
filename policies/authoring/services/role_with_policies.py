"""A role made together with the policies that are to speak for its holders."""

from collections.abc import Mapping, Sequence
from typing import Any

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.authoring.services.policies import Draft, Write
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.identity.services import roles
from policies.models import Gate, Policy, Role, open_write
from policies.writes import required_privileges
from policies.writes.validation import Checks


def create(*, name: str, description: str, policies_of: Sequence[str], by: Actor, door: str) -> Role:
    """Store a new role and name it in these policies, all or nothing.

    Raises what `roles.create` and `policies.write_many` raise, and Invalid naming every policy nobody knows.
    """
    required_privileges.require(by=by, requirement=required_privileges.MANAGE_POLICIES)
    # Behind the gate, so that nobody changes what is looked up here.
    with open_write(Gate.PEOPLE):
        role = roles.create(name=name, description=description, by=by, door=door)
        stored = {policy.urn: policy for policy in policy_queries.policies_among(urns=policies_of)}
        checks = Checks()
        checks.known(policies_of, stored, "/policyUrns", "policy")
        checks.finish()
        writes = [Write(urn, _speaking_for(role.urn, policy), policy.version) for urn, policy in stored.items()]
        if writes:
            policies.write_many(writes=writes, by=by, door=door)
    return role


def _speaking_for(role: str, policy: Policy) -> Draft:
    """Return a policy as it speaks for the holders of one more role."""
    document: Mapping[str, Any] = policy.document
    if policy.family == datahub.NAME:
        actors = document.get("actors") or {}
        named: dict[str, Any] = {"actors": {**actors, "roles": [*(actors.get("roles") or ()), role]}}
    else:
        named = {"roles": [*document["roles"], role]}
    return Draft(
        policy.family,
        {**document, **named},
        state=policy.state,
        description=policy.description,
        keeps_unknown=policy.state != Policy.State.ACTIVE,
    )
