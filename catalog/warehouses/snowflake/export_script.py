"""The script for snowsql that makes the files of an export of Snowflake."""

from catalog.warehouses.export_script import ExportScript

SCRIPT = ExportScript(
    warehouse="snowflake",
    package=__package__,
    begin="""
-- Makes the files of an export in the current folder:
-- snowsql -o output_format=csv -o header=true -o friendly=false -o timing=false -o exit_on_error=true -f THIS_FILE
-- The role needs the database roles SECURITY_VIEWER, OBJECT_VIEWER and GOVERNANCE_VIEWER of SNOWFLAKE, and a warehouse.
-- None of what it reads is the data of a table of yours.
""",
    statement="!spool {file}\n{select};\n!spool off",
    end="""
-- These views do not have what is granted on future tables, and what shares give. For each database and schema, each
-- share, in a file of its own under "grants":
-- SHOW FUTURE GRANTS IN DATABASE ...;  SHOW FUTURE GRANTS IN SCHEMA ...;  SHOW GRANTS TO SHARE ...;

-- The entry in exports.json, with the files in the folder "snow":
-- {"name": "snow", "platform": "snowflake", "form": "snowflake", "ignored_roles": ["ACCOUNTADMIN", "SECURITYADMIN"],
--  "grants": ["snow/grants_to_roles.csv", "snow/databases.csv", "snow/schemata.csv", "snow/future/*.csv"],
--  "members": ["snow/grants_to_users.csv", "snow/users.csv"], "policies": ["snow/policy_references.csv"],
--  "usage": ["snow/access_history.csv"]}
""",
)
