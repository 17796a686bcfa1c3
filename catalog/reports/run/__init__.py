"""One run of a report: its state, its job, and loading and reading its results."""
