"""Approval rules: what they say, which of them is for a request, and their writes."""
