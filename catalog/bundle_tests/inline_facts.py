"""Facts that a file of tests states itself: people with groups and roles, and entities with their facets."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import Partition, SnapshotState
from policies.engine import selectors
from policies.engine.model import Actor
from policies.engine.postings import FacetRow, Postings
from policies.engine.selectors import Owner
from policies.engine.snapshot import Snapshot

#: Type of an entity → the facet of which it is a value of itself (rules a.4).
_OWN_FACETS: Mapping[str, str] = {
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "glossaryTerm": selectors.GLOSSARY,
    "glossaryNode": selectors.GLOSSARY,
    "dataPlatformInstance": selectors.DATA_PLATFORM_INSTANCE,
}


@dataclass(slots=True)
class InlineFacts:
    """The facts of one file: people, the roles of groups, node → all nodes below it, and entities with facet rows."""

    people: tuple[Actor, ...]
    roles_by_group: Mapping[str, frozenset[str]]
    descendants: dict[str, tuple[str, ...]]
    urns: list[str] = field(default_factory=list)
    rows: list[FacetRow] = field(default_factory=list)

    def add_entity(self, urn: str, values_by_field: Mapping[str, Collection[str]], owners: Iterable[Owner]) -> None:
        """Add an entity with its facets and owners."""
        number = len(self.urns)
        self.urns.append(urn)
        own_field = _OWN_FACETS.get(get_entity_type(urn))
        if own_field is not None:
            self.rows.append((number, own_field, urn, ""))
        self.rows += [(number, name, value, "") for name, values in values_by_field.items() for value in sorted(values)]
        self.rows += [(number, selectors.OWNER, owner.actor, owner.type) for owner in owners]

    def build_partition(self, snapshot: Snapshot, fields: Collection[str]) -> PartitionFacts:
        """Return the facts as a partition of a catalog that has nothing else."""
        state = SnapshotState("", snapshot, self.people, self.descendants)
        loaded_fields = partitions.list_loaded_fields(fields) | {selectors.OWNER}
        membership_rows = (
            list(partitions.iterate_membership_rows(self.people, self.urns))
            if selectors.GROUP_MEMBERSHIP in loaded_fields
            else []
        )
        postings = Postings(
            urns=self.urns,
            types=[get_entity_type(urn) for urn in self.urns],
            fields=loaded_fields,
            rows=[row for row in self.rows if row[1] in loaded_fields] + membership_rows,
            descendants=self.descendants,
        )
        return PartitionFacts(state, Partition(pa.array(range(len(self.urns)), pa.int64()), postings))


def get_entity_type(urn: str) -> str:
    """Return the type that a URN names; '' if it names none."""
    parts = urn.split(":", 3)
    return parts[2] if len(parts) > 3 else ""
