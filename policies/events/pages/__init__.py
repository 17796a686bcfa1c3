"""The inbox as a page."""
