"""The catalog: entities, their aspects and facets, and everything derived from them."""
