"""The only way into the catalog: proposals are validated, authorized, patched and written."""
