"""Writes of guardrails, and what is checked before them."""
