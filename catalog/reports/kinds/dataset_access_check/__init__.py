"""The report that checks assertions about access to datasets."""
