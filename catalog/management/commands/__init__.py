"""Commands that load and repair the catalog."""
