"""Changes of people (`policies.changes`): members of groups, holders of roles, states of users, and deletions."""
