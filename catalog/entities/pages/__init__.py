"""Entities in the browser."""
