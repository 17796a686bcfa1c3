"""Facts of entities as changes would leave them: documents that are edited and not written; nothing is stored.

All changes of an entity are one write of it: its documents are validated and authorized once, as the last change leaves
them.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from catalog.access import entity_lists
from catalog.aspects.base import FacetValue
from catalog.entities import references
from catalog.entities.annotations import AnnotationEdit, DocumentChange
from catalog.ingest import hierarchy_closure
from catalog.ingest.staging import StagedDocuments, StagedEntity
from policies.engine.errors import Problem
from policies.engine.fact_changes import NO_FACT_CHANGES, FactChanges
from policies.engine.model import Actor
from policies.engine.selectors import HIERARCHICAL_FIELDS, OWN_FIELDS, OWNER, Owner
from policies.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedEdit(AnnotationEdit):
    """An edit whose documents are not written."""

    documents: StagedDocuments

    def write(self, aspect: str, change: DocumentChange) -> None:
        """Change the documents and stage them."""
        self.documents.stage(self.build_proposals(aspect, change))

    def require_stored(self, edited_urns: Sequence[str]) -> None:
        """Raise NotFound for the first URN that is not stored, or that the author may not view; it is asked once."""
        if unknown_urns := [urn for urn in edited_urns if urn not in self.documents.edited_urns]:
            super(StagedEdit, self).require_stored(unknown_urns)
            self.documents.edited_urns.update(unknown_urns)

    def load_texts(self, keys: Collection[tuple[str, str]]) -> Mapping[tuple[str, str], str]:
        """Return the text of each document that would exist."""
        return self.documents.load_texts(keys)


class StagedFacts:
    """`policies.changes.worlds.FactStage`: the documents of entities as the changes so far leave them."""

    def __init__(self, by: Actor) -> None:
        self.by = by
        self._documents = StagedDocuments(by)
        #: The parents that moves so far give.
        self.parents: dict[str, str | None] = {}
        #: URNs that changes named, and that are known.
        self._known_urns: set[str] = set()

    def open_edit(self, entity: str) -> StagedEdit:
        """Return an edit of an entity that stages its documents."""
        return StagedEdit([entity], self.by, "preview", documents=self._documents)

    def find_unknown(self, named_urns: Collection[str]) -> frozenset[str]:
        """Return those of these URNs that are not known to the author; each is looked up once."""
        new_urns = set(named_urns) - self._known_urns
        unknown_urns = references.find_unknown(urns=new_urns, by=self.by) if new_urns else frozenset[str]()
        self._known_urns |= new_urns - unknown_urns
        return unknown_urns

    def check(self) -> Mapping[str, Invalid]:
        """Validate and authorize the staged documents; return what is wrong by entity. A constant number of queries.

        Places in the whole document of an entity say nothing about a change, so the problems have none.
        """
        return {
            urn: Invalid([Problem(problem.code, "", problem.detail) for problem in problems])
            for urn, problems in self._documents.check().items()
        }

    def load_changes(self) -> FactChanges:
        """Return the facts that entities would have; a constant number of queries."""
        entities = self._documents.project()
        if not entities:
            return NO_FACT_CHANGES
        moved = {urn: entity for urn, entity in entities.items() if entity.is_moved}
        load_ancestors = partial(_compute_ancestors, {urn: entity.new_parent for urn, entity in moved.items()})
        moved_nodes: dict[str, set[str]] = defaultdict(set)
        for urn, entity in moved.items():
            moved_nodes[OWN_FIELDS[entity.type]].add(urn)
        owners = {
            urn: _list_owners(entity.new_facets)
            for urn, entity in entities.items()
            if _list_owners(entity.new_facets) != _list_owners(entity.old_facets)
        }
        values = {urn: _list_changed_fields(entity) for urn, entity in entities.items()}
        return FactChanges(
            values={urn: values_by_field for urn, values_by_field in values.items() if values_by_field},
            owners=owners,
            moved_nodes=moved_nodes,
            changed_values=_find_changed_values(entities, load_ancestors),
            changed_owners=frozenset[Owner]().union(
                *(owners[urn] ^ _list_owners(entities[urn].old_facets) for urn in owners)
            ),
            load_ancestors=load_ancestors,
        )


def _compute_ancestors(parents: Mapping[str, str | None], nodes: Collection[str], /) -> Mapping[str, Collection[str]]:
    return hierarchy_closure.compute_ancestors(nodes=nodes, parents=parents)


def _list_owners(facets: Collection[FacetValue]) -> frozenset[Owner]:
    return frozenset(Owner(facet.value, facet.type) for facet in facets if facet.field == OWNER)


def _list_changed_fields(entity: StagedEntity) -> dict[str, frozenset[str]]:
    """Return the values that the entity would have in each field but OWNER where they are others."""
    fields = {facet.field for facet in entity.old_facets ^ entity.new_facets} - {OWNER}
    return {name: _list_values(entity.new_facets, name) for name in fields}


def _list_values(facets: Collection[FacetValue], field: str) -> frozenset[str]:
    return frozenset(facet.value for facet in facets if facet.field == field)


def _find_changed_values(
    entities: Mapping[str, StagedEntity], load_ancestors: "partial[Mapping[str, Collection[str]]]"
) -> Mapping[str, frozenset[str]]:
    """Return the values, by field, that entities gain or lose, and those below moved nodes; hierarchies closed."""
    sides = [
        (field, _list_values(entity.old_facets, field), _list_values(entity.new_facets, field))
        for entity in entities.values()
        for field in {facet.field for facet in entity.old_facets ^ entity.new_facets}
    ]
    # A moved node is a value of itself, and of all that lies below it, with other ancestors.
    sides += [
        (OWN_FIELDS[entity.type], frozenset((urn,)), frozenset((urn,)))
        for urn, entity in entities.items()
        if entity.is_moved
    ]
    nodes = {node for field, *values in sides if field in HIERARCHICAL_FIELDS for node in values[0] | values[1]}
    old_ancestors = entity_lists.load_ancestors(nodes=nodes) if nodes else {}
    new_ancestors = load_ancestors(nodes) if nodes else {}
    changed_values: dict[str, frozenset[str]] = defaultdict(frozenset)
    for field, old_values, new_values in sides:
        if field in HIERARCHICAL_FIELDS:
            old_values = _close(old_values, old_ancestors)
            new_values = _close(new_values, new_ancestors)
        changed_values[field] |= old_values ^ new_values
    return changed_values


def _close(nodes: frozenset[str], ancestors: Mapping[str, Collection[str]]) -> frozenset[str]:
    return nodes.union(*(ancestors.get(node, ()) for node in nodes))
