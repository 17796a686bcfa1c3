"""One write in progress: what is stored about the entities it touches, what it changes, and how that is written.

Everything is worked out in memory between a fixed number of reads and a fixed number of writes, so a batch of 200 costs
the queries of a batch of 5.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from django.db.models import Max

from catalog import errors, urns
from catalog.aspects.base import FacetValue
from catalog.aspects.projection import project
from catalog.aspects.register import PROJECTING
from catalog.ingest import hierarchy_closure
from catalog.ingest.audit import Record
from catalog.ingest.validate import ChangeType, Item
from catalog.models import NODE_TYPES, Aspect, Entity, Facet
from policies.engine.errors import Problem
from policies.models import PolicyVersion

Key = tuple[str, str]


class Ledger:
    """The entities named by a write, with those of their newest documents that matter to it.

    `entities` are the rows, new ones not saved yet; `stored` the URNs that were known before.
    """

    def __init__(self, *, wanted: Collection[str], aspects: Collection[str], by: str, door: str, now: datetime) -> None:
        self._by = by
        self._now = now
        rows = Entity.objects.filter(urn__among=list(wanted)).order_by()
        self.entities: dict[str, Entity] = {row.urn: row for row in rows}
        self.stored: frozenset[str] = frozenset(self.entities)
        self._current: dict[Key, Aspect] = {}
        self._changed: dict[Key, Aspect] = {}
        self._archived: dict[Key, list[Aspect]] = defaultdict(list)
        self._deleted: set[Key] = set()
        self._described: set[str] = set()
        self._next: dict[Key, int] = {}
        self._before: dict[Key, str | None] = {}
        self._record = Record(by=by, door=door, at=now)
        self._load(PROJECTING | set(aspects))

    def document(self, urn: str, aspect: str) -> str | None:
        """Return the newest text of a document, as this write leaves it so far; None when there is none."""
        row = self._current.get((urn, aspect))
        return None if row is None else row.document

    def register(self, urn: str, *, object_id: str | None = None, **project: str | None) -> Entity:
        """Note that an entity exists, with the ids that are given; `project=None` takes it out of its project."""
        entity = self._entity(urn)
        if object_id is not None:
            entity.object_id = object_id
        if "project" in project:
            entity.project = project["project"]
        self._described.add(urn)
        return entity

    def apply(self, items: Iterable[Item]) -> list[Problem]:
        """Take in the changes in their order and return what contradicts what is stored."""
        problems: list[Problem] = []
        listed = list(items)
        self._number(listed)
        for item in listed:
            if item.change is ChangeType.CREATE_ENTITY and item.urn.text in self.stored:
                problems.append(entity_exists(item))
            elif item.change is ChangeType.CREATE and item.key in self._current:
                if not item.proposal.is_optional:
                    problems.append(aspect_exists(item))
            elif item.change is ChangeType.DELETE:
                self.remove(item.key)
            else:
                self.put(item.key, item.proposal.document or "", item.proposal.system_metadata)
        return problems

    def put(self, key: Key, text: str, metadata: str | None = None) -> None:
        """Write a document; one with the same bytes gets no new version, only the newer metadata."""
        entity, before = self._entity(key[0]), self._current.get(key)
        fresh = Aspect(entity=entity, name=key[1], document=text, system_metadata=metadata)
        fresh.created_at, fresh.created_by = self._now, self._by
        if before is not None and before.document == text:
            fresh.created_at, fresh.created_by = before.created_at, before.created_by
        else:
            self._described.add(key[0])
            self._before.setdefault(key, None if before is None else before.document)
            if before is not None:
                self._archive(key, before)
        self._current[key] = self._changed[key] = fresh

    def remove(self, key: Key) -> None:
        """Take a document away with all its versions; one that is not there is no problem."""
        before = self._current.pop(key, None)
        if before is None:
            return
        self._before.setdefault(key, before.document)
        self._deleted.add(key)
        self._described.add(key[0])
        self._changed.pop(key, None)
        self._archived.pop(key, None)
        self._next[key] = 1

    def save(self) -> frozenset[str]:
        """Write everything, the projection included, and return the URNs that were touched."""
        self._delete()
        moved = self._project()
        versions = [*self._changed.values(), *(row for rows in self._archived.values() for row in rows)]
        for row in versions:
            # Django took the number of the entity when it had none yet.
            row.entity_id = row.entity.pk
        Aspect.objects.bulk_create(
            versions,
            update_conflicts=True,
            unique_fields=["entity", "name", "version"],
            update_fields=["document", "system_metadata", "created_at", "created_by"],
        )
        hierarchy_closure.rewrite(nodes=moved)
        for key, before in self._before.items():
            self._record.document(self.entities[key[0]], key[1], before=before, after=self.document(*key))
        self._record.save()
        PolicyVersion.touch(self._described | self._objects(), moved)
        return frozenset(self._described | {urn for urn, _ in self._changed})

    def _objects(self) -> set[str]:
        """Return the URNs that the ids of objects would make: who is asked about one learns of the object instead."""
        described = [self.entities[urn] for urn in self._described]
        return {urns.make(one.type, one.object_id) for one in described if one.object_id is not None}

    def _load(self, aspects: Collection[str]) -> None:
        if not self.stored:
            return
        by_number = {entity.pk: entity for entity in self.entities.values()}
        rows = Aspect.objects.filter(entity_id__among=list(by_number), name__among=list(aspects), version=0).order_by()
        for row in rows:
            row.entity = by_number[row.entity_id]
            self._current[row.entity.urn, row.name] = row

    def _number(self, items: Iterable[Item]) -> None:
        """Look up the highest version of each document that will be replaced."""
        keys = {item.key for item in items if item.key in self._current and item.change is not ChangeType.DELETE}
        replaced = {key: self._current[key].entity_id for key in keys if self._current[key].pk is not None}
        if not replaced:
            return
        rows = Aspect.objects.filter(
            entity_id__among=list(replaced.values()), name__among=[name for _, name in replaced], version__gt=0
        )
        highest = {
            (number, name): version
            for number, name, version in rows.order_by().values_list("entity_id", "name").annotate(Max("version"))
        }
        for key, number in replaced.items():
            self._next[key] = highest.get((number, key[1]), 0) + 1

    def _archive(self, key: Key, row: Aspect) -> None:
        version = self._next.get(key, 1)
        self._next[key] = version + 1
        self._archived[key].append(
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

    def _entity(self, urn: str) -> Entity:
        found = self.entities.get(urn)
        if found is None:
            found = self.entities[urn] = Entity(urn=urn, type=urns.type_of(urn), created_at=self._now)
            self._described.add(urn)
        return found

    def _delete(self) -> None:
        by_name: dict[str, list[int]] = defaultdict(list)
        for urn, name in self._deleted:
            if urn in self.stored:
                by_name[name].append(self.entities[urn].pk)
        for name, numbers in by_name.items():
            Aspect.objects.filter(entity_id__among=numbers, name=name).delete()

    def _project(self) -> list[str]:
        """Write columns and facets of what was described anew; return the nodes whose parent changed."""
        touched = [self.entities[urn] for urn in sorted(self._described)]
        known = {entity.pk: entity.urn for entity in touched if entity.urn in self.stored}
        facets, moved = _settle(touched, self._documents(), self._now)
        Entity.objects.bulk_create(
            touched,
            update_conflicts=True,
            unique_fields=["urn"],
            update_fields=["name", "object_id", "project", "parent", "is_removed", "updated_at"],
        )
        write_facets(known=list(known), facets={entity.pk: facets[entity.urn] for entity in touched})
        return moved

    def _documents(self) -> dict[str, dict[str, str]]:
        documents: dict[str, dict[str, str]] = defaultdict(dict)
        for (urn, name), row in self._current.items():
            if name in PROJECTING:
                documents[urn][name] = row.document
        return documents


def entity_exists(item: Item) -> Problem:
    """Return what is wrong with making an entity that is there."""
    return Problem(errors.ENTITY_EXISTS, f"{item.place}/entityUrn", "There is already an entity with this URN.")


def aspect_exists(item: Item) -> Problem:
    """Return what is wrong with making an aspect that is there."""
    detail = f"The entity already has {item.aspect}."
    return Problem(errors.ASPECT_EXISTS, f"{item.place}/aspectName", detail)


def _settle(
    entities: Iterable[Entity], documents: Mapping[str, Mapping[str, str]], now: datetime
) -> tuple[dict[str, frozenset[FacetValue]], list[str]]:
    """Set the projected columns; return the facets of each URN, and the nodes whose parent changed."""
    facets: dict[str, frozenset[FacetValue]] = {}
    moved: list[str] = []
    for entity in entities:
        before = entity.parent
        facets[entity.urn] = project_entity(entity, documents.get(entity.urn, {}))
        entity.updated_at = now
        if entity.parent != before and entity.type in NODE_TYPES:
            moved.append(entity.urn)
    return facets, moved


def project_entity(entity: Entity, documents: Mapping[str, str]) -> frozenset[FacetValue]:
    """Set the projected columns of an entity from its newest documents and return its facets."""
    found = project(urn=urns.parse(entity.urn), documents=documents, object_id=entity.object_id, project=entity.project)
    entity.name, entity.parent, entity.is_removed = found.name, found.parent, found.is_removed
    return found.facets


def write_facets(*, known: list[int], facets: Mapping[int, frozenset[FacetValue]]) -> None:
    """Make the facet rows of these entities (by number) what they should be; `known` may have rows already."""
    gone: list[int] = []
    missing = {(number, facet) for number, found in facets.items() for facet in found}
    if known:
        rows = Facet.objects.filter(entity_id__among=known).order_by()
        for pk, number, *facet in rows.values_list("pk", "entity_id", "field", "value", "type"):
            row = (number, FacetValue(*facet))
            if row in missing:
                missing.remove(row)
            else:
                gone.append(pk)
    if gone:
        Facet.objects.filter(pk__among=gone).delete()
    Facet.objects.bulk_create(
        [Facet(entity_id=number, **facet._asdict()) for number, facet in sorted(missing)], batch_size=2000
    )
