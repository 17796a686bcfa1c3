"""Redshift: its parts, and what the files of an export show; the other queries would show the rest."""

from collections.abc import Mapping
from functools import partial

from catalog.warehouses.policy_layouts import read_policies
from catalog.warehouses.redshift import grants, history
from catalog.warehouses.redshift.dialect import DIALECT
from catalog.warehouses.redshift.layouts import (
    DEFAULTS,
    OWNERS,
    POLICY_LAYOUTS,
    RELATION_OWNERS,
    RELATIONS,
    SCHEMA_GRANTS,
    SCHEMAS,
    SHARED,
    SHOWN,
    USERS,
)
from catalog.warehouses.redshift.privileges import COLUMN_PRIVILEGES, PRIVILEGES
from catalog.warehouses.warehouse import ExportCoverage, Warehouse

#: What an export cannot show that has none of some layouts.
_LIMITS: Mapping[frozenset[str], str] = {
    frozenset({RELATIONS, SHOWN}): "No file has the grants on tables (relation_grants.sql).",
    frozenset({RELATION_OWNERS, OWNERS}): "No file says who owns tables (relation_owners.sql).",
    frozenset({SCHEMA_GRANTS, SCHEMAS}): (
        "No file says who gets into schemas, and which of these are external (schema_grants.sql)."
    ),
    frozenset({USERS, "pg_user"}): "No file lists the users (users.sql): superusers are not seen.",
    frozenset({DEFAULTS}): "No file has the privileges of tables that are made in future (default_privileges.sql).",
    frozenset({SHARED}): "No file has what datashares show (datashare_objects.sql), beside grants to them.",
}
_SHOWN_LIMIT = (
    "SHOW GRANTS shows one object or grantee at a time, at most 10,000 rows, and only rows that its caller may see: "
    "nothing is called missing on what it does not name (relation_grants.sql)."
)
_SCHEMAS_LIMIT = (
    "SVV_SCHEMA_PRIVILEGES names neither the owners of schemas, so that no grant counts as closed, nor the external "
    "ones, which USAGE opens (schema_grants.sql)."
)


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    if not layouts:
        return ExportCoverage()
    limits = [limit for names, limit in _LIMITS.items() if not layouts & names]
    if SHOWN in layouts and RELATIONS not in layouts:
        limits.append(_SHOWN_LIMIT)
    if SCHEMAS in layouts and SCHEMA_GRANTS not in layouts:
        limits.append(_SCHEMAS_LIMIT)
    return ExportCoverage(
        listing_layouts=frozenset({RELATIONS, SHOWN}),
        is_complete=RELATIONS in layouts or SHOWN not in layouts,
        limits=tuple(limits),
    )


REDSHIFT = Warehouse(
    name="redshift",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=partial(read_policies, policy_layouts=POLICY_LAYOUTS),
    read_history=history.read_query_details,
    dialect=DIALECT,
    spelling="lower",
    partial_privileges=tuple(COLUMN_PRIVILEGES),
    guesses_accounts=False,
    find_coverage=find_coverage,
    history_names_views=False,
    grants_lag="none",
    history_lag="some hours where logs are delivered to files",
)
