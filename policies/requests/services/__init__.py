"""Writes of requests: asking, deciding, granting, and what ends by itself."""
