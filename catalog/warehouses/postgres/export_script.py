"""The script for psql that makes the files of an export of PostgreSQL, all from one state of the catalog."""

from catalog.warehouses.export_script import ExportScript

SCRIPT = ExportScript(
    warehouse="postgres",
    package=__package__,
    begin="""
-- Makes the files of an export in the current folder: psql -X -d DATABASE -f THIS_FILE
-- Every role may read what it reads; none of it is the data of a table. One run for each database.
\\set ON_ERROR_STOP on
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
""",
    statement="COPY (\n{select}\n) TO STDOUT WITH (FORMAT csv, HEADER) \\g {file}",
    end="""
COMMIT;

-- The entry in exports.json, with the files in the folder "shop":
-- {"name": "shop", "platform": "postgres", "form": "postgres", "database": "DATABASE", "ignored_roles": ["postgres"],
--  "grants": ["shop/relation_grants.csv", "shop/column_grants.csv", "shop/schema_grants.csv",
--             "shop/database_grants.csv", "shop/default_privileges.csv"],
--  "members": ["shop/roles.csv", "shop/role_members.csv"], "policies": ["shop/row_policies.csv"]}
""",
)
