"""One write in progress: the stored state of its entities, the changes, and their storage.

Everything is computed in memory between a fixed number of reads and a fixed number of writes, so a batch of 200 takes
as many queries as a batch of 5.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from django.db.models import Max

from catalog import errors, urns
from catalog.aspects.base import FacetValue
from catalog.aspects.projection import project
from catalog.aspects.register import PROJECTED_ASPECTS
from catalog.ingest import hierarchy_closure
from catalog.ingest.audit import AuditRecord
from catalog.ingest.hidden_references import detach_deleted, revive_names
from catalog.ingest.validate import ChangeType, ValidatedProposal
from catalog.models import NODE_TYPES, Aspect, Entity, Facet
from policies.engine.errors import Problem
from policies.models import PolicyVersion

DocumentKey = tuple[str, str]


class WriteSet:
    """The entities named by a write, with the newest documents that it needs.

    `entities` are the rows, new ones unsaved; `stored_urns` are the URNs that existed before.
    """

    def __init__(
        self, *, entity_urns: Collection[str], aspects: Collection[str], by: str, channel: str, now: datetime
    ) -> None:
        self._by = by
        self._now = now
        rows = Entity.objects.filter(urn__among=list(entity_urns)).order_by()
        self.entities: dict[str, Entity] = {row.urn: row for row in rows}
        self.stored_urns: frozenset[str] = frozenset(self.entities)
        self._current_rows: dict[DocumentKey, Aspect] = {}
        self._changed_rows: dict[DocumentKey, Aspect] = {}
        self._archived_rows: dict[DocumentKey, list[Aspect]] = defaultdict(list)
        self._deleted_keys: set[DocumentKey] = set()
        self._described_urns: set[str] = set()
        self._next_versions: dict[DocumentKey, int] = {}
        self._previous_texts: dict[DocumentKey, str | None] = {}
        self._audit_record = AuditRecord(by=by, channel=channel, at=now)
        self._load(PROJECTED_ASPECTS | set(aspects))

    def document(self, urn: str, aspect: str) -> str | None:
        """Return the newest text of a document, including changes so far; None when it does not exist."""
        row = self._current_rows.get((urn, aspect))
        return None if row is None else row.document

    def register(self, urn: str, *, object_id: str | None = None, **project: str | None) -> Entity:
        """Register an entity, with the ids that are given; `project=None` removes it from its project."""
        entity = self._ensure_entity(urn)
        if object_id is not None:
            entity.object_id = object_id
        if "project" in project:
            entity.project = project["project"]
        self._described_urns.add(urn)
        return entity

    def apply(self, items: Iterable[ValidatedProposal]) -> list[Problem]:
        """Apply the changes in order and return those that contradict stored data, as problems."""
        problems: list[Problem] = []
        item_list = list(items)
        self._load_next_versions(item_list)
        for item in item_list:
            if item.change is ChangeType.CREATE_ENTITY and item.urn.text in self.stored_urns:
                problems.append(entity_exists_problem(item))
            elif item.change is ChangeType.CREATE and item.key in self._current_rows:
                if not item.proposal.is_optional:
                    problems.append(aspect_exists_problem(item))
            elif item.change is ChangeType.DELETE:
                self.remove(item.key)
            else:
                self.put(item.key, item.proposal.document or "", item.proposal.system_metadata)
        return problems

    def put(self, key: DocumentKey, text: str, metadata: str | None = None) -> None:
        """Write a document; the same bytes make no new version, only newer metadata."""
        entity, previous = self._ensure_entity(key[0]), self._current_rows.get(key)
        row = Aspect(entity=entity, name=key[1], document=text, system_metadata=metadata)
        row.created_at, row.created_by = self._now, self._by
        if previous is not None and previous.document == text:
            row.created_at, row.created_by = previous.created_at, previous.created_by
        else:
            self._described_urns.add(key[0])
            self._previous_texts.setdefault(key, None if previous is None else previous.document)
            if previous is not None:
                self._archive(key, previous)
        self._current_rows[key] = self._changed_rows[key] = row

    def remove(self, key: DocumentKey) -> None:
        """Delete a document with all its versions; a missing one is no error."""
        previous = self._current_rows.pop(key, None)
        if previous is None:
            return
        self._previous_texts.setdefault(key, previous.document)
        self._deleted_keys.add(key)
        self._described_urns.add(key[0])
        self._changed_rows.pop(key, None)
        self._archived_rows.pop(key, None)
        self._next_versions[key] = 1

    def save(self) -> frozenset[str]:
        """Write everything, projection included, and return the touched URNs."""
        self._delete()
        moved_nodes = self._project()
        versions = [*self._changed_rows.values(), *(row for rows in self._archived_rows.values() for row in rows)]
        for row in versions:
            # Django copied the primary key of the entity before the entity had one.
            row.entity_id = row.entity.pk
        Aspect.objects.bulk_create(
            versions,
            update_conflicts=True,
            unique_fields=["entity", "name", "version"],
            update_fields=["document", "system_metadata", "created_at", "created_by"],
        )
        hierarchy_closure.rewrite(nodes=moved_nodes)
        for key, previous_text in self._previous_texts.items():
            self._audit_record.record_document(
                self.entities[key[0]], key[1], before=previous_text, after=self.document(*key)
            )
        self._audit_record.save()
        PolicyVersion.touch(self._described_urns | self._object_urns(), moved_nodes)
        return frozenset(self._described_urns | {urn for urn, _ in self._changed_rows})

    def _object_urns(self) -> set[str]:
        """Return the URNs made of the object ids: a question about one of them is answered for the object."""
        entities = [self.entities[urn] for urn in self._described_urns]
        return {urns.make(entity.type, entity.object_id) for entity in entities if entity.object_id is not None}

    def _load(self, aspects: Collection[str]) -> None:
        if not self.stored_urns:
            return
        entities_by_id = {entity.pk: entity for entity in self.entities.values()}
        rows = Aspect.objects.filter(
            entity_id__among=list(entities_by_id), name__among=list(aspects), version=0
        ).order_by()
        for row in rows:
            row.entity = entities_by_id[row.entity_id]
            self._current_rows[row.entity.urn, row.name] = row

    def _load_next_versions(self, items: Iterable[ValidatedProposal]) -> None:
        """Load the highest version of each document that will be replaced."""
        keys = {item.key for item in items if item.key in self._current_rows and item.change is not ChangeType.DELETE}
        entity_ids = {key: self._current_rows[key].entity_id for key in keys if self._current_rows[key].pk is not None}
        if not entity_ids:
            return
        rows = Aspect.objects.filter(
            entity_id__among=list(entity_ids.values()), name__among=[name for _, name in entity_ids], version__gt=0
        )
        highest_versions = {
            (entity_id, name): version
            for entity_id, name, version in rows.order_by().values_list("entity_id", "name").annotate(Max("version"))
        }
        for key, entity_id in entity_ids.items():
            self._next_versions[key] = highest_versions.get((entity_id, key[1]), 0) + 1

    def _archive(self, key: DocumentKey, row: Aspect) -> None:
        version = self._next_versions.get(key, 1)
        self._next_versions[key] = version + 1
        self._archived_rows[key].append(
            Aspect(
                entity=row.entity,
                name=row.name,
                version=version,
                document=row.document,
                system_metadata=row.system_metadata,
                created_at=row.created_at,
                created_by=row.created_by,
            )
        )

    def _ensure_entity(self, urn: str) -> Entity:
        entity = self.entities.get(urn)
        if entity is None:
            entity = self.entities[urn] = Entity(urn=urn, type=urns.entity_type(urn), created_at=self._now)
            self._described_urns.add(urn)
        return entity

    def _delete(self) -> None:
        ids_by_name: dict[str, list[int]] = defaultdict(list)
        for urn, name in self._deleted_keys:
            if urn in self.stored_urns:
                ids_by_name[name].append(self.entities[urn].pk)
        for name, entity_ids in ids_by_name.items():
            Aspect.objects.filter(entity_id__among=entity_ids, name=name).delete()

    def _project(self) -> list[str]:
        """Write columns and facets of the changed entities; return the nodes whose parent changed."""
        entities = [self.entities[urn] for urn in sorted(self._described_urns)]
        stored_entities = {entity.pk: entity.urn for entity in entities if entity.urn in self.stored_urns}
        facets, moved_nodes = _project_entities(entities, self._projected_documents(), self._now)
        revive_names([entity.urn for entity in entities if entity.urn not in self.stored_urns])
        Entity.objects.bulk_create(
            entities,
            update_conflicts=True,
            unique_fields=["urn"],
            update_fields=["name", "object_id", "project", "parent", "is_removed", "updated_at"],
        )
        write_facets(existing_ids=list(stored_entities), facets={entity.pk: facets[entity.urn] for entity in entities})
        return moved_nodes

    def _projected_documents(self) -> dict[str, dict[str, str]]:
        documents: dict[str, dict[str, str]] = defaultdict(dict)
        for (urn, name), row in self._current_rows.items():
            if name in PROJECTED_ASPECTS:
                documents[urn][name] = row.document
        return documents


def entity_exists_problem(item: ValidatedProposal) -> Problem:
    """Return the problem of creating an existing entity."""
    return Problem(errors.ENTITY_EXISTS, f"{item.pointer}/entityUrn", "There is already an entity with this URN.")


def aspect_exists_problem(item: ValidatedProposal) -> Problem:
    """Return the problem of creating an existing aspect."""
    detail = f"The entity already has {item.aspect}."
    return Problem(errors.ASPECT_EXISTS, f"{item.pointer}/aspectName", detail)


def _project_entities(
    entities: Iterable[Entity], documents: Mapping[str, Mapping[str, str]], now: datetime
) -> tuple[dict[str, frozenset[FacetValue]], list[str]]:
    """Set the projected columns; return the facets of each URN, and the nodes whose parent changed."""
    facets: dict[str, frozenset[FacetValue]] = {}
    moved_nodes: list[str] = []
    for entity in entities:
        previous_parent = entity.parent
        facets[entity.urn] = project_entity(entity, documents.get(entity.urn, {}))
        entity.updated_at = now
        if entity.parent != previous_parent and entity.type in NODE_TYPES:
            moved_nodes.append(entity.urn)
    return facets, moved_nodes


def project_entity(entity: Entity, documents: Mapping[str, str]) -> frozenset[FacetValue]:
    """Set the projected columns of an entity from its newest documents and return its facets."""
    projection = project(
        urn=urns.parse(entity.urn), documents=documents, object_id=entity.object_id, project=entity.project
    )
    entity.name, entity.parent, entity.is_removed = projection.name, projection.parent, projection.is_removed
    return projection.facets


def write_facets(
    *,
    existing_ids: list[int],
    facets: Mapping[int, frozenset[FacetValue]],
    hidden: Mapping[int, frozenset[FacetValue]] | None = None,
) -> None:
    """Write the facet rows of these entities (by primary key), changing only differences in `existing_ids`.

    References to what was deleted are hidden, and so are those that were hidden before, in `hidden` or in the rows.
    """
    stored_rows: dict[tuple[int, FacetValue], int] = {}
    stored_facets: dict[int, set[FacetValue]] = defaultdict(set)
    for entity_id, hidden_facets in (hidden or {}).items():
        stored_facets[entity_id] |= hidden_facets
    if existing_ids:
        rows = Facet.objects.filter(entity_id__among=existing_ids).order_by()
        for pk, entity_id, *values in rows.values_list("pk", "entity_id", "field", "value", "type"):
            facet = FacetValue(*values)
            stored_rows[entity_id, facet] = pk
            stored_facets[entity_id].add(facet)
    shown_facets = detach_deleted(facets, stored_facets=stored_facets)
    wanted_rows = {(entity_id, facet) for entity_id, entity_facets in shown_facets.items() for facet in entity_facets}
    stale_ids = [pk for row, pk in stored_rows.items() if row not in wanted_rows]
    missing_facets = wanted_rows - stored_rows.keys()
    if stale_ids:
        Facet.objects.filter(pk__among=stale_ids).delete()
    Facet.objects.bulk_create(
        [Facet(entity_id=entity_id, **facet._asdict()) for entity_id, facet in sorted(missing_facets)], batch_size=2000
    )
