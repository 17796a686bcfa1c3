"""Every read of this app. Callers write `queries.actor(urn=...)` and need not know in which module it lives."""

from policies.queries.active import active_policies, is_open_to_everybody
from policies.queries.actors import actor, actors
from policies.queries.aspects import aspects_of, aspects_of_many
from policies.queries.credentials import (
    invites,
    member_counts,
    named_policies,
    policies_of_roles,
    roles_through_groups,
    token_counts,
    tokens,
)
from policies.queries.crowds import Crowd, holders_of, in_many_groups
from policies.queries.decisions import (
    Place,
    Slice,
    decisions,
    decisions_at,
    decisions_began,
    decisions_counted,
    forget_decisions,
    uses,
)
from policies.queries.events import change_events, policy_events, urns_in
from policies.queries.names import known_people, names, similar_users
from policies.queries.people import (
    group,
    groups,
    holder_counts,
    holders,
    member_urns,
    members,
    native_members,
    policies_naming,
    role,
    roles,
    stored_group,
    stored_role,
    stored_user,
    user,
    users,
)
from policies.queries.policies import (
    policies,
    policies_among,
    policy,
    versions,
)
from policies.queries.reached import reached
from policies.queries.retention import delete_changes, delete_expired_sessions, delete_policy_changes

__all__ = [
    "Crowd",
    "Place",
    "Slice",
    "active_policies",
    "actor",
    "actors",
    "aspects_of",
    "aspects_of_many",
    "change_events",
    "decisions",
    "decisions_at",
    "decisions_began",
    "decisions_counted",
    "delete_changes",
    "delete_expired_sessions",
    "delete_policy_changes",
    "forget_decisions",
    "group",
    "groups",
    "holder_counts",
    "holders",
    "holders_of",
    "in_many_groups",
    "invites",
    "is_open_to_everybody",
    "known_people",
    "member_counts",
    "member_urns",
    "members",
    "named_policies",
    "names",
    "native_members",
    "policies",
    "policies_among",
    "policies_naming",
    "policies_of_roles",
    "policy",
    "policy_events",
    "reached",
    "role",
    "roles",
    "roles_through_groups",
    "similar_users",
    "stored_group",
    "stored_role",
    "stored_user",
    "token_counts",
    "tokens",
    "urns_in",
    "user",
    "users",
    "uses",
    "versions",
]
