"""The reasons for which stored DataHub policies do not apply to an actor and a resource (rules/datahub.md a.8)."""

from enum import StrEnum

from policies.engine.actor_conditions import failing_conditions, is_excluded
from policies.engine.families import datahub
from policies.engine.model import SYSTEM_ACTOR, Actor, Statement
from policies.engine.selectors import Resource, resource_tokens
from policies.models import Policy
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import ResourceRef


class Obstacle(StrEnum):
    """The reason for which a policy does not apply, in DataHub's order of checks; the first that is true counts.

    The fourth reason of a.8, a sub-resource that is not allowed, cannot occur: these requests have no sub-resources.
    """

    INACTIVE = "The policy is not active."
    RESOURCE = "The resource does not match."
    ACTOR = "The actor does not match."


def list_obstacles(*, actor: Actor, resource: ResourceRef | None) -> dict[str, Obstacle]:
    """Return display name → obstacle of every stored DataHub policy that does not apply, whatever it grants.

    Keyed by display name, as in DataHub: of two obstacles under one name, that of the later URN stays. The system actor
    has no obstacles. Raises what `authorizer.answer` raises.
    """
    if actor.urn == SYSTEM_ACTOR:
        return {}
    snapshot = snapshot_store.get_current()
    statements = {statement.origin.policy: statement for statement in snapshot.statements}
    resource_facts = None
    if resource is not None:
        privileges = frozenset[str]().union(*(statement.privileges for statement in statements.values()))
        resource_facts = authorizer.load_resource(resource=resource, snapshot=snapshot, privileges=privileges)
    rows = Policy.objects.filter(family=datahub.NAME).order_by("urn").values_list("urn", "name")
    obstacle_pairs = ((name, _find_obstacle(statements.get(urn), actor, resource_facts)) for urn, name in rows)
    return {name: obstacle for name, obstacle in obstacle_pairs if obstacle is not None}


def _find_obstacle(statement: Statement | None, actor: Actor, resource: Resource | None) -> Obstacle | None:
    """Return the obstacle of a policy, None if it applies; without a statement in the snapshot it is inactive."""
    if statement is None:
        return Obstacle.INACTIVE
    failed_conditions = failing_conditions(statement, actor, resource)
    if not statement.resources.covers(resource) or any(condition.is_about_resource for condition in failed_conditions):
        return Obstacle.RESOURCE
    is_named = not statement.actors.tokens.isdisjoint(
        actor.tokens | resource_tokens(actor.urn, actor.holders, resource)
    )
    is_excepted = is_excluded(statement, actor, resource)
    return Obstacle.ACTOR if failed_conditions or not is_named or is_excepted else None
