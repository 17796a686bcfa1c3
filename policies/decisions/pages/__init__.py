"""Pages of questions about access."""
