"""The pages of the catalog and of external roles."""
