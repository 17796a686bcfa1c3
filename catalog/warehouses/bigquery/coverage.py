"""What the files of an export of BigQuery show, and which command would show the rest."""

from catalog.warehouses.warehouse import ExportCoverage

IAM_POLICIES, OBJECT_PRIVILEGES = "iam_policies", "OBJECT_PRIVILEGES"
_ONE_OBJECT = (
    "OBJECT_PRIVILEGES has the bindings of the one object that each query names, and none of what is above datasets: "
    "nothing is called missing on tables that it does not name. The commands of `manage.py exports sql bigquery` show "
    "all policies."
)


def find_coverage(layouts: frozenset[str]) -> ExportCoverage:
    """Return what an export shows whose files have these layouts."""
    if OBJECT_PRIVILEGES not in layouts or IAM_POLICIES in layouts:
        return ExportCoverage()
    return ExportCoverage(listing_layouts=frozenset({OBJECT_PRIVILEGES}), limits=(_ONE_OBJECT,))
