"""Write services for users, groups, roles, access tokens, invitations and sign-in."""
