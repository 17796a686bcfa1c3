"""Warehouse usage: which grants of the source systems were used, by their own history of access."""
