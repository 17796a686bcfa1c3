"""The description of the plain form, for systems without a folder of their own."""

from catalog.warehouses import plain_grants
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.plain import history
from catalog.warehouses.policy_layouts import read_plain_policies
from catalog.warehouses.warehouse import Warehouse

PLAIN = Warehouse(
    name="csv",
    privileges={
        **dict.fromkeys(("READ", "SELECT"), READ),
        **dict.fromkeys(("WRITE", "INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
        **dict.fromkeys(("ADMIN", "OWNER", "OWNERSHIP", "ALL", "ALL PRIVILEGES"), ADMIN),
    },
    read_grants=plain_grants.read_export,
    read_policies=read_plain_policies,
    read_history=history.read_plain_history,
    has_role_addresses=True,
)
