"""Tables of the catalog."""

from catalog.models import change_triggers
from catalog.models.assertions import AssertionText, ManagedAssertion
from catalog.models.change_marker import ChangeMarker, SnapshotBase, TableMarker
from catalog.models.entity import NODE_TYPES, Ancestry, Aspect, Entity, Facet
from catalog.models.finding import Finding, FindingEvent
from catalog.models.grant import EntityGroupGrant, EntityUserGrant, ScheduledGrant, WildcardGrant
from catalog.models.lookups import AmongLookup, prefix_range
from catalog.models.report import Report, ReportRow
from catalog.models.warehouse_change import WarehouseChange
from catalog.models.warehouse_snapshot import WarehouseSnapshot

__all__ = [
    "NODE_TYPES",
    "AmongLookup",
    "Ancestry",
    "Aspect",
    "AssertionText",
    "ChangeMarker",
    "Entity",
    "EntityGroupGrant",
    "EntityUserGrant",
    "Facet",
    "Finding",
    "FindingEvent",
    "ManagedAssertion",
    "Report",
    "ReportRow",
    "ScheduledGrant",
    "SnapshotBase",
    "TableMarker",
    "WarehouseChange",
    "WarehouseSnapshot",
    "WildcardGrant",
    "change_triggers",
    "prefix_range",
]
