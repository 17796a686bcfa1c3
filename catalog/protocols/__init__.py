"""Packages that speak somebody else's protocol and call the same services and queries as our own API and pages."""
