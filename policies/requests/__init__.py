"""Requests for access: asking, deciding, writing what was approved, and its end (contract-requests.md)."""
