"""Catalog data for the decision point: facets of entities, grants, and the entities that a caller may view."""
