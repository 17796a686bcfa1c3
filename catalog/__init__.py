"""What there is: entities, their aspects and facets, and what follows from them."""
