"""Entities of the catalog in pages and in our API."""
