"""The description of PostgreSQL."""

from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.postgres import grants, history, policies
from catalog.warehouses.postgres.dialect import DIALECT
from catalog.warehouses.warehouse import Warehouse

POSTGRES = Warehouse(
    name="postgres",
    privileges={
        "SELECT": READ,
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
        **dict.fromkeys(("OWNER", "ALL PRIVILEGES"), ADMIN),
    },
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_audit_entries,
    dialect=DIALECT,
    spelling="lower",
)
