"""Privileges and types of objects of Snowflake (docs/warehouses/snowflake.md): what is not here is quarantined."""

from collections.abc import Mapping

from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.published import read_published

PUBLISHED = read_published(__package__)

#: What opens all of a database that was made from a share; views show it as USAGE.
IMPORTED, MANAGE_GRANTS = "IMPORTED PRIVILEGES", "MANAGE GRANTS"
PRIVILEGES: Mapping[str, int] = {
    "SELECT": READ,
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE", "EVOLVE SCHEMA"), WRITE),
    **dict.fromkeys(("OWNERSHIP", "ALL", "ALL PRIVILEGES"), ADMIN),
    IMPORTED: READ,
    MANAGE_GRANTS: ADMIN,
}
#: Privileges on tables and views that reach no rows.
HARMLESS = ("REFERENCES", "REBUILD", "APPLYBUDGET", "APPLY", "MONITOR", "OPERATE", "USAGE")
#: Any of these lets its holder into the schema or database; so does one to create something there.
ENTRIES = (
    *("USAGE", "MODIFY", "MONITOR", "OWNERSHIP", "ALL", "ALL PRIVILEGES", "APPLYBUDGET", "ADD SEARCH OPTIMIZATION"),
    *("EXECUTE AUTO CLASSIFICATION", "DELETE RESTRICTED", IMPORTED),
)
ENTRY_START = "CREATE "
#: Privileges on the account that reach no rows, and how others begin that reach none.
ACCOUNT_PRIVILEGES = PUBLISHED.words["account_privileges"]
ACCOUNT_STARTS = (ENTRY_START, "APPLY ", "EXECUTE ", "MONITOR ")
#: Objects that may show rows of tables of which an export does not say.
READING_TYPES = (
    *("STREAM", "STAGE", "CORTEX SEARCH SERVICE", "DATASET", "SNAPSHOT", "SNAPSHOT SET", "BACKUP SET"),
    *("SEMANTIC MODEL", "ONLINE FEATURE TABLE"),
)
#: Kinds of tables and views that nobody writes by SQL: their one privilege on rows is SELECT.
READ_ONLY_TYPES = ("VIEW", "MATERIALIZED VIEW", "DYNAMIC TABLE", "EXTERNAL TABLE", "SEMANTIC VIEW")
#: Types of objects that hold no rows of tables.
OTHER_TYPES = PUBLISHED.words["other_types"]
