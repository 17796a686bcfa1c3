"""Policies in the browser: list, builder, Datazone editor, history."""
