"""Patches of aspects: JSON Patch on arrays that have keys."""
