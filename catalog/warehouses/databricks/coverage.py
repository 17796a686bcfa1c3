"""What the files of an export of Databricks show, and which query would show the rest."""

from catalog.warehouses.databricks.layouts import (
    CATALOG_PRIVILEGES,
    LOCATION_GRANTS,
    RECIPIENTS,
    SCHEMA_PRIVILEGES,
    TABLE_SHARES,
)
from catalog.warehouses.warehouse import ExportCoverage

_LIMITS = (
    ((SCHEMA_PRIVILEGES, CATALOG_PRIVILEGES), "No file says who gets into schemas and catalogs"),
    ((LOCATION_GRANTS,), "No file says who reads files of tables in external locations"),
    ((TABLE_SHARES, RECIPIENTS), "No file says what is shared with whom outside"),
)


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts; it is complete if it says who gets in where."""
    if not layouts:
        return ExportCoverage()
    missing = [([name for name in names if name not in layouts], words) for names, words in _LIMITS]
    limits = tuple(f"{words} ({', '.join(f'{name}.sql' for name in names)})." for names, words in missing if names)
    return ExportCoverage(is_complete=not missing[0][0], limits=limits)
