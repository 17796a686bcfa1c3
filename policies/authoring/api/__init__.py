"""Policies and the privilege registry in the project's own API."""
