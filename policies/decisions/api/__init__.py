"""Questions about access in the project's own API."""
