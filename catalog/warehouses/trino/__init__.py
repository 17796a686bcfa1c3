"""Trino: what its exports look like, what its privileges mean, and how access changes (docs/warehouses/trino.md)."""
