"""Requests and approval rules in the project's own API."""
