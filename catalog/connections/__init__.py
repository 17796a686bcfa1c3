"""Connections to source systems that can be reached, and snapshots of them (docs/warehouses/connections.md)."""
