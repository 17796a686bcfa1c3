"""The description of Trino."""

from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.policy_layouts import read_plain_policies
from catalog.warehouses.sql_dialect import READ_AND_WRITE, SqlDialect
from catalog.warehouses.trino import grants, history
from catalog.warehouses.warehouse import Warehouse

TRINO = Warehouse(
    name="trino",
    privileges={
        "SELECT": READ,
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE"), WRITE),
        **dict.fromkeys(("OWNERSHIP", "ALL PRIVILEGES"), ADMIN),
    },
    read_grants=grants.read_export,
    read_policies=read_plain_policies,
    read_history=history.read_query_events,
    dialect=SqlDialect(
        name="trino",
        quote='"',
        levels={READ: "SELECT", WRITE: READ_AND_WRITE, ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "ON SCHEMA", ""),
        objects=("TABLE", "SCHEMA", ""),
        table_parts=3,
        nouns={Grantee.ROLE: "ROLE ", Grantee.USER: "USER "},
        membership="",
        owner_change="SET AUTHORIZATION ROLE ",
        owns_containers=True,
    ),
    spelling="lower",
    has_directory_names=True,
)
