"""The report of the impact of a policy change."""
