"""Reads of policies."""
