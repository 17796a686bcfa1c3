"""The description of BigQuery."""

from catalog.warehouses.bigquery import grants, history, policies
from catalog.warehouses.bigquery.dialect import BigQueryDialect
from catalog.warehouses.bigquery.grants import IAM_POLICIES, OBJECT_PRIVILEGES, SHOWN_DATASETS
from catalog.warehouses.bigquery.privileges import PRIVILEGES, PROJECT_MEMBER_KINDS
from catalog.warehouses.warehouse import ExportCoverage, Warehouse

_ONE_OBJECT = (
    "OBJECT_PRIVILEGES has the bindings of the one object that each query names, and none of what is above datasets: "
    "nothing is called missing on tables that it does not name. The commands of `manage.py exports sql bigquery` show "
    "all policies."
)
_AUTHORIZED = "The views, routines and datasets that read a dataset for others are in `bq show --format=json DATASET`."


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    limits = (_AUTHORIZED,) if layouts and SHOWN_DATASETS not in layouts else ()
    if OBJECT_PRIVILEGES not in layouts or IAM_POLICIES in layouts:
        return ExportCoverage(limits=limits)
    return ExportCoverage(listing_layouts=frozenset({OBJECT_PRIVILEGES}), limits=(_ONE_OBJECT, *limits))


BIGQUERY = Warehouse(
    name="bigquery",
    privileges=PRIVILEGES,
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_audit_log,
    dialect=BigQueryDialect(),
    has_groups=True,
    has_role_addresses=True,
    role_kind="group:",
    has_conditions=True,
    hides_types=True,
    guesses_accounts=False,
    find_coverage=find_coverage,
    usual_holders=tuple(PROJECT_MEMBER_KINDS),
    grants_lag="some minutes",
    history_lag="some minutes",
)
