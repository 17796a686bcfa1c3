"""Reports and findings in the project's own API."""
