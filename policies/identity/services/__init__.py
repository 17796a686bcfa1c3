"""Writes of users, groups, roles and tokens."""
