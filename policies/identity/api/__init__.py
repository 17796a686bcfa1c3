"""People, roles and tokens in the project's own API."""
