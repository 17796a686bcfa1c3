"""Entities of the catalog as people and programs read and edit them."""
