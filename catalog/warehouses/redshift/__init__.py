"""Redshift: its exports, what its privileges mean, and how access changes (docs/warehouses/redshift.md)."""
