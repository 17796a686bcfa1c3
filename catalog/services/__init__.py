"""Every write to the catalog: checked, authorized item by item, and in one transaction."""
