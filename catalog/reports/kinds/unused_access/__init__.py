"""The report of unused access."""
