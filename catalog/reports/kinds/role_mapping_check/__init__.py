"""The report that compares grants of warehouses with the external roles of the catalog."""
