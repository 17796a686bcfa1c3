"""SCIM 2.0 (RFC 7643, RFC 7644): identity providers keep users and groups here (clients.md 4)."""
