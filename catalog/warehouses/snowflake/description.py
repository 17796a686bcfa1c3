"""The description of Snowflake."""

from catalog.warehouses.snowflake import grants, history, policies
from catalog.warehouses.snowflake.dialect import DIALECT
from catalog.warehouses.snowflake.layouts import (
    DATABASE_LAYOUTS,
    FUTURE_GRANTS,
    GRANTS_TO_ROLES,
    SCHEMA_LAYOUTS,
    SHOW_GRANTS,
    USERS,
)
from catalog.warehouses.snowflake.privileges import PRIVILEGES
from catalog.warehouses.warehouse import ExportCoverage, Warehouse

#: What an export cannot show that has none of these layouts.
_LIMITS = (
    ((GRANTS_TO_ROLES,), "SHOW GRANTS shows one role, user or object; all grants are in GRANTS_TO_ROLES."),
    ((SHOW_GRANTS,), "The rights that shares give to other accounts are in SHOW GRANTS TO SHARE."),
    (DATABASE_LAYOUTS, "The databases that were made from shares are in DATABASES: without it they are guessed."),
    ((USERS,), "The accounts that exist are in USERS: only those that hold something are known."),
    ((FUTURE_GRANTS,), "The grants on future tables are in SHOW FUTURE GRANTS IN DATABASE, and IN SCHEMA."),
    (SCHEMA_LAYOUTS, "The schemas with managed access are in SCHEMATA."),
)


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    if not layouts:
        return ExportCoverage()
    return ExportCoverage(limits=tuple(words for names, words in _LIMITS if layouts.isdisjoint(names)))


SNOWFLAKE = Warehouse(
    name="snowflake",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_access_history,
    dialect=DIALECT,
    spelling="upper",
    has_login_names=True,
    has_acting_roles=True,
    guesses_accounts=False,
    find_coverage=find_coverage,
    grants_lag="up to 2 hours",
    history_lag="up to 3 hours",
)
