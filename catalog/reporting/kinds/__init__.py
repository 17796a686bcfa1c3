"""Every kind of report, each in a file of its own."""

from collections.abc import Mapping
from types import MappingProxyType

from catalog.reporting.kind import Kind
from catalog.reporting.kinds import effective_access

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in (effective_access.KIND,)})
