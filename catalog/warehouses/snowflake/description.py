"""The description of Snowflake."""

from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.snowflake import grants, history, policies
from catalog.warehouses.snowflake.dialect import DIALECT
from catalog.warehouses.warehouse import Warehouse

SNOWFLAKE = Warehouse(
    name="snowflake",
    privileges={
        "SELECT": READ,
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE", "EVOLVE SCHEMA"), WRITE),
        **dict.fromkeys(("OWNERSHIP", "ALL", "ALL PRIVILEGES"), ADMIN),
    },
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_access_history,
    dialect=DIALECT,
    spelling="upper",
    has_role_addresses=True,
)
