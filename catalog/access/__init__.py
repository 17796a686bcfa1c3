"""What the decision point asks of the catalog: facts of entities, grants, and which entities a caller may view."""
