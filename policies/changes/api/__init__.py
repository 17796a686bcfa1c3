"""The preview of changes in the project's own API."""
