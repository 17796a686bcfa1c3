"""PostgreSQL: its parts, and what the files of an export show; the other queries would show the rest."""

from functools import partial

from catalog.warehouses.policy_layouts import read_policies
from catalog.warehouses.postgres import catalog_layouts, grants, history, schema_layouts
from catalog.warehouses.postgres.catalog_layouts import (
    DATABASE_GRANTS,
    RELATION_GRANTS,
    ROLE_MEMBERS,
    ROLES,
    SCHEMA_GRANTS,
)
from catalog.warehouses.postgres.dialect import DIALECT
from catalog.warehouses.postgres.privileges import COLUMN_PRIVILEGES, PRIVILEGES
from catalog.warehouses.postgres.schema_layouts import OWNERS, TABLE_PRIVILEGES
from catalog.warehouses.warehouse import ExportCoverage, Warehouse

_QUERIES = "The queries of `manage.py exports sql postgres` show it."
_OLD_GRANTS = (
    "information_schema has no materialized views, shows grants of others only to members of their roles, and neither "
    "who gets into schemas and databases nor default privileges: nothing is called missing on what it does not name. "
    f"{_QUERIES}"
)


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    if not layouts:
        return ExportCoverage()
    limits = []
    if TABLE_PRIVILEGES in layouts:
        limits.append(_OLD_GRANTS)
    elif RELATION_GRANTS not in layouts:
        limits.append(f"No file has the grants on relations ({RELATION_GRANTS}.sql).")
    elif missing_names := [name for name in (SCHEMA_GRANTS, DATABASE_GRANTS) if name not in layouts]:
        limits.append(f"No file says who gets into schemas and the database ({', '.join(missing_names)}).")
    if not layouts & {ROLES, "pg_roles"}:
        limits.append(f"No file lists the roles ({ROLES}.sql): people are guessed, and superusers are not seen.")
    if ROLE_MEMBERS not in layouts:
        limits.append(f"Who passed a membership on, and who has it by SET ROLE only, is in {ROLE_MEMBERS}.sql alone.")
    return ExportCoverage(
        listing_layouts=frozenset({RELATION_GRANTS, TABLE_PRIVILEGES, *OWNERS}),
        is_complete=RELATION_GRANTS in layouts,
        limits=tuple(limits),
    )


POSTGRES = Warehouse(
    name="postgres",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=partial(read_policies, policy_layouts=(catalog_layouts.POLICY_LAYOUT, schema_layouts.POLICY_LAYOUT)),
    read_history=history.read_audit_entries,
    dialect=DIALECT,
    spelling="lower",
    partial_privileges=tuple(COLUMN_PRIVILEGES),
    guesses_accounts=False,
    find_coverage=find_coverage,
    grants_lag="none",
    history_lag="none",
)
