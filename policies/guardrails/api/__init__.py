"""Guardrails in the project's own API."""
