"""The description of Redshift."""

from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.redshift import grants, history, policies
from catalog.warehouses.sql_dialect import READ_AND_WRITE, SqlDialect
from catalog.warehouses.warehouse import Warehouse

REDSHIFT = Warehouse(
    name="redshift",
    privileges={
        "SELECT": READ,
        **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
        **dict.fromkeys(("OWNER", "ALL PRIVILEGES"), ADMIN),
    },
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_query_details,
    dialect=SqlDialect(
        name="redshift",
        quote='"',
        levels={READ: "SELECT", WRITE: f"{READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
        scopes=("ON TABLE", "FOR TABLES IN SCHEMA", "FOR TABLES IN DATABASE"),
        objects=("TABLE", "SCHEMA", "DATABASE"),
        table_parts=2,
        nouns={Grantee.ROLE: "ROLE ", Grantee.GROUP: "GROUP "},
        membership="ROLE ",
        owner_change="OWNER TO ",
        has_public=True,
        can_rename_roles=True,
    ),
    spelling="lower",
    history_names_views=False,
)
