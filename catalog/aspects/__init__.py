"""Schemas of the aspects that this product interprets, and the facets derived from each."""
