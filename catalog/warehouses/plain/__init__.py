"""The plain form: CSV that anybody can write, for systems without layouts of their own (docs/warehouses/plain.md)."""
