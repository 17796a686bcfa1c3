"""The report of access that nobody uses."""
