"""Questions in the project's own API."""
