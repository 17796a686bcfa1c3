"""The description of Databricks."""

from catalog.warehouses.databricks import grants, history, policies
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.sql_dialect import SqlDialect
from catalog.warehouses.warehouse import Denials, Warehouse

DATABRICKS = Warehouse(
    name="databricks",
    privileges={
        "SELECT": READ,
        "MODIFY": WRITE,
        # Who manages or owns an object can give himself every privilege on it.
        **dict.fromkeys(("ALL PRIVILEGES", "MANAGE", "OWN", "OWNERSHIP"), ADMIN),
    },
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_system_tables,
    dialect=SqlDialect(
        name="databricks",
        quote="`",
        levels={READ: "SELECT", WRITE: "SELECT, MODIFY", ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "ON SCHEMA", "ON CATALOG"),
        objects=("TABLE", "SCHEMA", "CATALOG"),
        table_parts=3,
        nouns={},
        membership=None,
        owner_change="OWNER TO ",
        owns_containers=True,
    ),
    spelling="lower",
    has_groups=True,
    has_directory_names=True,
    denials=Denials(all_privileges="ALL PRIVILEGES", everybody="users"),
    history_names_views=False,
)
