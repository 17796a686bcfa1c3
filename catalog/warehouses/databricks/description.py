"""The description of Databricks."""

from functools import partial

from catalog.warehouses import policy_layouts
from catalog.warehouses.databricks import grants, history
from catalog.warehouses.databricks.dialect import DIALECT
from catalog.warehouses.databricks.layouts import (
    CATALOG_PRIVILEGES,
    LOCATION_GRANTS,
    POLICY_LAYOUTS,
    RECIPIENTS,
    SCHEMA_PRIVILEGES,
    TABLE_SHARES,
)
from catalog.warehouses.databricks.privileges import FILE_PRIVILEGES, PRIVILEGES, SHARED
from catalog.warehouses.warehouse import Denials, ExportCoverage, Warehouse

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


DATABRICKS = Warehouse(
    name="databricks",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=partial(policy_layouts.read_policies, policy_layouts=POLICY_LAYOUTS),
    read_history=history.read_system_tables,
    dialect=DIALECT,
    spelling="lower",
    has_groups=True,
    has_directory_names=True,
    denials=Denials(all_privileges="ALL PRIVILEGES", everybody="users"),
    partial_privileges=FILE_PRIVILEGES,
    unguarded_privileges=(*FILE_PRIVILEGES, SHARED),
    guesses_accounts=False,
    find_coverage=find_coverage,
    history_names_views=False,
    grants_lag="none",
    history_lag="some hours, without a bound",
)
