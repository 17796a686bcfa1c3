"""The description of PostgreSQL."""

from catalog.warehouses.postgres import grants, history, policies
from catalog.warehouses.postgres.coverage import find_coverage
from catalog.warehouses.postgres.dialect import DIALECT
from catalog.warehouses.postgres.privileges import COLUMN_PRIVILEGES, PRIVILEGES
from catalog.warehouses.warehouse import Warehouse

POSTGRES = Warehouse(
    name="postgres",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_audit_entries,
    dialect=DIALECT,
    spelling="lower",
    partial_privileges=tuple(COLUMN_PRIVILEGES),
    guesses_accounts=False,
    find_coverage=find_coverage,
    grants_lag="none",
    history_lag="none",
)
