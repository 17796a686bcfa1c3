"""Reads of guardrails."""
