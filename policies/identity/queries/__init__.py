"""Reads of users, groups, roles and tokens."""
