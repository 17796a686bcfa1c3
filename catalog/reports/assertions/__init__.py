"""Assertions about access, as people write them."""
