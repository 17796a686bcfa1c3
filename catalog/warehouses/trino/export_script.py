"""The shell script that makes the files of an export of Trino by its command line client, one catalog in a run."""

from catalog.warehouses.export_script import ExportScript

SCRIPT = ExportScript(
    warehouse="trino",
    package=__package__,
    begin="""
# Makes the files of an export in the current folder: CATALOG=hive sh THIS_FILE
# TRINO is the client with its options, such as "trino --server https://trino.example --user root". Its account
# has to see all grants: with the SQL standard of Hive these are users with the role admin. It reads no data of tables.
set -eu
""",
    statement="""\
${TRINO:-trino} --catalog "$CATALOG" --output-format CSV_HEADER --execute "$(cat <<'SQL'
{select}
SQL
)" > {file}""",
    end="""
# The entry in exports.json, with the files in the folder "lake"; "database" is the catalog:
# {"name": "lake", "platform": "trino", "form": "trino", "database": "hive", "ignored_roles": ["admin"],
#  "grants": ["lake/table_grants.csv"], "members": ["lake/roles.csv", "lake/role_members.csv"]}
""",
)
