"""The registry of kinds of reports; each kind has a folder in `kinds`."""

from collections.abc import Mapping
from types import MappingProxyType

from catalog.models import Report
from catalog.reports.kinds.dataset_access_check import spec as dataset_access_check_spec
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.kinds.policy_hygiene import spec as policy_hygiene_spec
from catalog.reports.kinds.policy_impact import spec as policy_impact_spec
from catalog.reports.kinds.role_mapping_check import spec as role_mapping_check_spec
from catalog.reports.kinds.unused_access import spec as unused_access_spec
from catalog.reports.kinds.warehouse_usage import spec as warehouse_usage_spec
from catalog.reports.spec import ReportSpec
from catalog.reports.tables import ResultTable
from policies.errors import NotFound

KINDS: Mapping[str, ReportSpec] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            effective_access_spec.SPEC,
            role_mapping_check_spec.SPEC,
            warehouse_usage_spec.SPEC,
            dataset_access_check_spec.SPEC,
            policy_hygiene_spec.SPEC,
            policy_impact_spec.SPEC,
            unused_access_spec.SPEC,
        )
    }
)


def get_spec(run: Report) -> ReportSpec:
    """Return the kind of a run; for a kind that no longer exists, one with only its name."""
    spec = KINDS.get(run.kind)
    return spec or ReportSpec(name=run.kind, title=run.kind, description="", module="", tables=())


def get_table(run: Report, name: str) -> ResultTable:
    """Return a table of the kind of a run. Raises NotFound."""
    for table in get_spec(run).tables:
        if table.name == name:
            return table
    raise NotFound(f"Reports of this kind have no table {name}.")
