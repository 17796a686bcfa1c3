"""People, roles and tokens in the browser."""
