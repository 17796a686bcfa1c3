"""Read queries for users, groups, roles, access tokens and invitations."""
