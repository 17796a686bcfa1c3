"""The description of BigQuery."""

from catalog.warehouses.bigquery import grants, history, policies
from catalog.warehouses.bigquery.dialect import BigQueryDialect
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.warehouse import Warehouse

BIGQUERY = Warehouse(
    name="bigquery",
    privileges={
        "roles/bigquery.dataViewer": READ,
        "roles/bigquery.filteredDataViewer": READ,
        "roles/bigquery.dataEditor": WRITE,
        "roles/bigquery.dataOwner": ADMIN,
        "roles/bigquery.admin": ADMIN,
        "roles/viewer": READ,
        "roles/editor": WRITE,
        "roles/owner": ADMIN,
    },
    read_grants=grants.read_export,
    read_policies=policies.read_policies,
    read_history=history.read_audit_log,
    dialect=BigQueryDialect(),
    has_groups=True,
    has_role_addresses=True,
    role_kind="group:",
    has_conditions=True,
)
