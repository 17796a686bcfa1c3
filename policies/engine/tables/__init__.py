"""What the families know, as data: vocabularies and operations in TOML, read by `families.vocabulary`."""
