"""Entities in the project's own API."""
