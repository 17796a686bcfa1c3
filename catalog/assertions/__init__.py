"""Assertions about access: the YAML text that people write, and its parser."""
