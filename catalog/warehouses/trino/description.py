"""The description of Trino."""

from catalog.warehouses.policy_layouts import read_plain_policies
from catalog.warehouses.trino import grants, history
from catalog.warehouses.trino.coverage import find_coverage
from catalog.warehouses.trino.dialect import DIALECT
from catalog.warehouses.trino.privileges import PRIVILEGES
from catalog.warehouses.warehouse import Warehouse

TRINO = Warehouse(
    name="trino",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=read_plain_policies,
    read_history=history.read_query_events,
    dialect=DIALECT,
    spelling="lower",
    has_directory_names=True,
    guesses_accounts=False,
    find_coverage=find_coverage,
    grants_lag="none",
    history_lag="none",
)
