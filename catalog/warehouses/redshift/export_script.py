"""The script for psql that makes the files of an export of Redshift."""

from catalog.warehouses.export_script import ExportScript

SCRIPT = ExportScript(
    warehouse="redshift",
    package=__package__,
    begin="""
-- Makes the files of an export in the current folder: psql -X -q -h CLUSTER -p 5439 -U USER -d DATABASE -f THIS_FILE
-- As a superuser, or with ACCESS SYSTEM TABLE and ACCESS CATALOG: others see only what concerns them. It reads no data
-- of tables. One run for each database.
\\set ON_ERROR_STOP on
\\pset format csv
BEGIN READ ONLY;
""",
    statement="\\o {file}\n{select};",
    end="""
\\o
COMMIT;

-- The entry in exports.json, with the files in the folder "dwh":
-- {"name": "dwh", "platform": "redshift", "form": "redshift", "database": "DATABASE", "ignored_roles": ["awsuser"],
--  "grants": ["dwh/relation_grants.csv", "dwh/relation_owners.csv", "dwh/column_grants.csv", "dwh/schema_grants.csv",
--             "dwh/database_grants.csv", "dwh/default_privileges.csv", "dwh/datashare_objects.csv"],
--  "members": ["dwh/users.csv", "dwh/roles.csv", "dwh/role_members.csv", "dwh/user_roles.csv",
--              "dwh/group_members.csv"]}
""",
)
