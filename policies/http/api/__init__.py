"""Code shared by the views of the project's own API."""
