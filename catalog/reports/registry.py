"""The registry of kinds of reports; each kind has a folder in `kinds`."""

from collections.abc import Mapping
from types import MappingProxyType

from catalog.reports.kinds.dataset_access_check import spec as dataset_access_check_spec
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.kinds.policy_hygiene import spec as policy_hygiene_spec
from catalog.reports.kinds.policy_impact import spec as policy_impact_spec
from catalog.reports.kinds.role_mapping_check import spec as role_mapping_check_spec
from catalog.reports.kinds.unused_access import spec as unused_access_spec
from catalog.reports.spec import ReportSpec

KINDS: Mapping[str, ReportSpec] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            effective_access_spec.SPEC,
            role_mapping_check_spec.SPEC,
            dataset_access_check_spec.SPEC,
            policy_hygiene_spec.SPEC,
            policy_impact_spec.SPEC,
            unused_access_spec.SPEC,
        )
    }
)
