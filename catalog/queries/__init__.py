"""Every read of the catalog."""
