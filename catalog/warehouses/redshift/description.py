"""The description of Redshift."""

from catalog.warehouses.redshift import grants, history, policies
from catalog.warehouses.redshift.coverage import find_coverage
from catalog.warehouses.redshift.dialect import DIALECT
from catalog.warehouses.redshift.privileges import COLUMN_PRIVILEGES, PRIVILEGES
from catalog.warehouses.warehouse import Warehouse

REDSHIFT = Warehouse(
    name="redshift",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_query_details,
    dialect=DIALECT,
    spelling="lower",
    partial_privileges=tuple(COLUMN_PRIVILEGES),
    guesses_accounts=False,
    find_coverage=find_coverage,
    history_names_views=False,
    grants_lag="none",
    history_lag="some hours where logs are delivered to files",
)
