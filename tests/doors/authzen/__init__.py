"""Scenarios of the standard's own suites, written as policies."""
