"""Users, groups, roles, service accounts, access tokens and invitations in this product's own API."""
