"""Pages of policies: list, builder, Datazone editor, history."""
