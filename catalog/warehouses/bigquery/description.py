"""The description of BigQuery."""

from catalog.warehouses.bigquery import grants, history, policies
from catalog.warehouses.bigquery.coverage import find_coverage
from catalog.warehouses.bigquery.dialect import BigQueryDialect
from catalog.warehouses.bigquery.privileges import PRIVILEGES, PROJECT_MEMBER_KINDS
from catalog.warehouses.warehouse import Warehouse

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
    guesses_accounts=False,
    find_coverage=find_coverage,
    usual_holders=tuple(PROJECT_MEMBER_KINDS),
    grants_lag="some minutes",
    history_lag="some minutes",
)
