"""Writes of policies, and what is checked before them."""
