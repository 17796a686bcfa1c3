"""The effect of changes, in sentences."""
