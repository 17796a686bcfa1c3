"""The description of Snowflake."""

from catalog.warehouses.snowflake import grants, history, policies
from catalog.warehouses.snowflake.coverage import find_coverage
from catalog.warehouses.snowflake.dialect import DIALECT
from catalog.warehouses.snowflake.privileges import PRIVILEGES
from catalog.warehouses.warehouse import Warehouse

SNOWFLAKE = Warehouse(
    name="snowflake",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_access_history,
    dialect=DIALECT,
    spelling="upper",
    has_login_names=True,
    has_acting_roles=True,
    guesses_accounts=False,
    find_coverage=find_coverage,
    grants_lag="up to 2 hours",
    history_lag="up to 3 hours",
)
