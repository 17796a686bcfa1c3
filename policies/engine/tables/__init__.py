"""Vocabularies and operations of the families as TOML data, read by `families.vocabulary`."""
