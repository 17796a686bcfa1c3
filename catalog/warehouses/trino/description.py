"""Trino: its parts, and what the files of an export show; the other queries would show the rest."""

from catalog.warehouses.policy_layouts import read_plain_policies
from catalog.warehouses.trino import grants, history
from catalog.warehouses.trino.dialect import DIALECT
from catalog.warehouses.trino.grants import APPLICABLE, MEMBERS, TABLE_PRIVILEGES
from catalog.warehouses.trino.privileges import PRIVILEGES
from catalog.warehouses.warehouse import ExportCoverage, Warehouse

_ALWAYS = (
    "information_schema shows all grants and roles only to whoever has the role admin, and none of an access control "
    "by files, Ranger or OPA."
)


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    if not layouts:
        return ExportCoverage()
    limits = [_ALWAYS]
    if TABLE_PRIVILEGES not in layouts:
        limits.append("No file has the grants on tables (table_grants.sql).")
    if MEMBERS not in layouts:
        limits.append("No file has all members of roles (role_members.sql).")
    if APPLICABLE in layouts:
        limits.append("applicable_roles shows the roles of whoever asks, and no others (role_members.sql).")
    return ExportCoverage(limits=tuple(limits))


TRINO = Warehouse(
    name="trino",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=read_plain_policies,
    read_history=history.read_query_events,
    dialect=DIALECT,
    spelling="lower",
    has_directory_names=True,
    guesses_accounts=False,
    find_coverage=find_coverage,
    grants_lag="none",
    history_lag="none",
)
