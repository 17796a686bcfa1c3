"""The report of what a change of a policy would change."""
