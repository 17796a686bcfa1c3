"""Pages for users, groups, roles, service accounts, access tokens, invitations and sign-in."""
