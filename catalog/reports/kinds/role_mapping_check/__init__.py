"""The report that compares grants in warehouses with the external roles of the catalog."""
