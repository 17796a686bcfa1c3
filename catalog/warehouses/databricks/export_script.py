"""The script for a notebook, or the editor of SQL on a cluster, that makes the files of an export of Databricks."""

from catalog.warehouses.export_script import ExportScript

SCRIPT = ExportScript(
    warehouse="databricks",
    package=__package__,
    begin="""
-- Makes the files of an export in a volume. Put its path in place of /Volumes/CATALOG/SCHEMA/VOLUME.
-- Run it as an administrator of the metastore: others see only grants on what they own, and their own ones.
-- It reads descriptions alone, and no data of a table.
""",
    statement="""INSERT OVERWRITE DIRECTORY '/Volumes/CATALOG/SCHEMA/VOLUME/{file}'
USING csv OPTIONS (header 'true', escape '"')
{select};""",
    end="""
-- Who is in which group, below a line object_type,object,privilege,grantee_type,grantee:
-- databricks users list --output json
--   | jq -r '.[] | .userName as $user | .groups[]? | ["ROLE", .display, "MEMBER", "USER", $user] | @csv'
--
-- The entry in exports.json, with the files in the folder "lake"; each of them is a folder itself:
-- {"name": "lake", "platform": "databricks", "form": "databricks", "email_domain": "x.example",
--  "grants": ["lake/table_privileges.csv/*.csv", "lake/schema_privileges.csv/*.csv",
--             "lake/catalog_privileges.csv/*.csv", "lake/tables.csv/*.csv", "lake/schemata.csv/*.csv",
--             "lake/catalogs.csv/*.csv", "lake/location_grants.csv/*.csv", "lake/table_share_usage.csv/*.csv",
--             "lake/schema_share_usage.csv/*.csv", "lake/share_recipient_privileges.csv/*.csv"],
--  "members": ["lake/group_members.csv"],
--  "policies": ["lake/column_masks.csv/*.csv", "lake/row_filters.csv/*.csv"]}
""",
)
