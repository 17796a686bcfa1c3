"""Every kind of report, each in a file of its own."""

from collections.abc import Mapping
from types import MappingProxyType

from catalog.reporting.kind import Kind
from catalog.reporting.kinds import (
    dataset_access_check,
    effective_access,
    policy_hygiene,
    policy_impact,
    role_mapping_check,
    unused_access,
)

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            effective_access.KIND,
            role_mapping_check.KIND,
            dataset_access_check.KIND,
            policy_hygiene.KIND,
            policy_impact.KIND,
            unused_access.KIND,
        )
    }
)
