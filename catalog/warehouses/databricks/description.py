"""The description of Databricks."""

from catalog.warehouses.databricks import grants, history, policies
from catalog.warehouses.databricks.coverage import find_coverage
from catalog.warehouses.databricks.dialect import DIALECT
from catalog.warehouses.databricks.privileges import FILE_PRIVILEGES, PRIVILEGES, SHARED
from catalog.warehouses.warehouse import Denials, Warehouse

DATABRICKS = Warehouse(
    name="databricks",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
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
