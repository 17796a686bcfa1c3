"""What the files of an export of Snowflake show, and which query would show the rest."""

from catalog.warehouses.snowflake.layouts import (
    DATABASE_LAYOUTS,
    FUTURE_GRANTS,
    GRANTS_TO_ROLES,
    SCHEMATA,
    SHOW_GRANTS,
    USERS,
)
from catalog.warehouses.warehouse import ExportCoverage


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    if not layouts:
        return ExportCoverage()
    limits = []
    if GRANTS_TO_ROLES not in layouts:
        limits.append("SHOW GRANTS shows one role, user or object; all grants are in GRANTS_TO_ROLES.")
    if SHOW_GRANTS not in layouts:
        limits.append("What shares give to other accounts is in SHOW GRANTS TO SHARE.")
    if layouts.isdisjoint(DATABASE_LAYOUTS):
        limits.append("Which databases were made from shares is in DATABASES: without it they are guessed.")
    if USERS not in layouts:
        limits.append("Which accounts there are is in USERS: only those that hold something are known.")
    if FUTURE_GRANTS not in layouts:
        limits.append("What is granted on future tables is in SHOW FUTURE GRANTS IN DATABASE, and IN SCHEMA.")
    if SCHEMATA not in layouts:
        limits.append("Which schemas have managed access is in SCHEMATA.")
    return ExportCoverage(limits=tuple(limits))
