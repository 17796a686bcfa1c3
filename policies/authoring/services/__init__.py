"""Writes of policies, and the checks before them."""
