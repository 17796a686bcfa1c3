"""Protocols of other products, on top of the same services and queries as our own API and pages."""
