"""Deletion of entities, and removal of references to an entity from other documents."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Q
from django.utils import timezone

from catalog import urns as catalog_urns
from catalog.access import disclosure, entity_lists, grant_source
from catalog.access.view_permissions import remove_urns
from catalog.aspects import register
from catalog.aspects.facet_fields import PROJECT
from catalog.aspects.register import PROJECTED_ASPECTS
from catalog.ingest import hierarchy_closure, required_privileges
from catalog.ingest.audit import AuditRecord
from catalog.ingest.write_set import WriteSet
from catalog.models import Aspect, Entity, Facet
from catalog.urns import Urn
from policies.aspects import queries as aspect_queries
from policies.aspects import services as people_aspects
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid
from policies.identity.queries import relationships
from policies.models import Gate, PolicyVersion, open_write, retry_deadlock
from policies.pdp.authorizer import SYSTEM
from policies.writes import deleted_names

_CHUNK_SIZE = 500

#: Types that other entities carry, so that policies reach these by them: references end with what they name.
_REFERRED_TYPES = frozenset(
    {
        "container",
        "dataPlatformInstance",
        "dataProduct",
        "domain",
        "glossaryNode",
        "glossaryTerm",
        "ownershipType",
        "tag",
    }
)

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """Result of a deletion: the entity and the number of deleted documents, versions included."""

    urn: str
    document_count: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A document of another entity that names the URN."""

    urn: str
    aspect: str


@retry_deadlock
def delete(*, urn: str, by: Actor, channel: str, is_open: bool = False) -> DeleteResult:
    """Delete an entity with its documents, facets and grants. An unknown entity is no error.

    Users, groups, roles and policies are deleted as on their pages. Children stay and lose their parent, except the
    contents of a CDAP entity, which are deleted too. Raises Invalid for an invalid URN, Forbidden, and Conflict as
    `delete_entities`.
    """
    problem = catalog_urns.find_problem(urn, "/urn")
    if problem is not None:
        raise Invalid([problem])
    parsed_urn = catalog_urns.parse(urn)
    with open_write(*_choose_gates(parsed_urn)):
        if parsed_urn.type in catalog_urns.PEOPLE_TYPES and aspect_queries.load_aspects(urn=urn) is not None:
            people_aspects.remove(urn=urn, by=by, channel=channel)
        elif not is_open or parsed_urn.type in catalog_urns.GUARDED_TYPES:
            _require_removal(parsed_urn, by=by)
        document_count = Aspect.objects.filter(entity__urn=urn).count()
        delete_entities(urns=[urn], by=by.urn, channel=channel)
    return DeleteResult(urn, document_count)


def delete_entities(*, urns: Sequence[str], by: str, channel: str) -> frozenset[str]:
    """Delete entities inside the transaction of an authorized write; return every touched URN.

    The contents of a CDAP entity, and every grant there, are deleted too (rules/cdap.md CD-17). References to tags,
    domains and the like stop counting at once, and a task removes them. Raises Conflict for the CDAP instance, which is
    permanent, and for what a policy names to keep access from somebody.
    """
    if INSTANCE_URN in urns:
        raise Conflict("The CDAP instance stays.")
    # Grants are made behind the gate PEOPLE: none may be made on an entity being deleted.
    with open_write(Gate.PEOPLE):
        return _delete_entities(urns, by=by, channel=channel)


def _delete_entities(urns: Sequence[str], *, by: str, channel: str) -> frozenset[str]:
    deleted_urns = list(dict.fromkeys((*urns, *entity_lists.list_urns_within(urns=urns))))
    rows = list(Entity.objects.filter(urn__among=deleted_urns).order_by())
    deleted_names.refuse_narrowing_many(_list_displayed_names(rows))
    projects = [row.object_id for row in rows if row.type == "project" and row.object_id is not None]
    grant_source.delete_patterns_within(urns=deleted_urns)
    _record_removal(rows, by=by, channel=channel)
    Entity.objects.filter(pk__among=[row.pk for row in rows]).delete()
    touched_urns = set(deleted_urns) | _detach_children(deleted_urns, projects, channel=channel)
    hierarchy_closure.rewrite(nodes=deleted_urns)
    if marked_urns := [row.urn for row in rows if row.type in _REFERRED_TYPES]:
        deleted_names.mark(marked_urns)
    object_urns = {catalog_urns.make(row.type, row.object_id) for row in rows if row.object_id is not None}
    PolicyVersion.touch(touched_urns | object_urns, deleted_urns)
    return frozenset(touched_urns)


def _list_displayed_names(rows: Sequence[Entity]) -> dict[str, str]:
    """Return URN or object name -> what to call it, of what policies may name; a person's own service guards it."""
    displayed_names: dict[str, str] = {}
    for row in rows:
        if row.type not in catalog_urns.PEOPLE_TYPES:
            displayed_names[row.urn] = row.name or row.urn
            if row.object_id is not None:
                displayed_names[deleted_names.make_object_name(row.type, row.object_id)] = row.name or row.urn
    return displayed_names


def remove_references(*, urn: str, by: Actor, channel: str, dry_run: bool, is_open: bool = False) -> list[Mention]:
    """Remove references to a URN from other documents; return the documents that name it.

    These are the catalog's documents that yield facts, and memberships of groups and roles. Policies are not changed:
    without the URN they could match other actors. With `dry_run` nothing is written or authorized: the interface must
    limit the result to what its caller may view. Otherwise it needs the privileges for deleting the entity and for
    leaving each group or role.
    """
    problem = catalog_urns.find_problem(urn, "/urn")
    if problem is not None:
        raise Invalid([problem])
    parsed_urn = catalog_urns.parse(urn)
    if not dry_run and (not is_open or parsed_urn.type in catalog_urns.GUARDED_TYPES):
        _require_removal(parsed_urn, by=by)
    if dry_run:
        return _to_mentions(_find_mentions(urn), _load_memberships(urn))
    # Behind the gates, so that nothing read here changes before it is written.
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        mentions, memberships = _find_mentions(urn), _load_memberships(urn)
        rewrite(
            {key: remove_urns(document, {urn}) for key, document in mentions.items()},
            by=by.urn,
            channel=channel,
        )
        _leave_groups(memberships, urn, by=by, channel=channel)
    return _to_mentions(mentions, memberships)


def _to_mentions(*mappings: Mapping[tuple[str, str], Any]) -> list[Mention]:
    return [Mention(*key) for key in sorted({key for mapping in mappings for key in mapping})]


def _choose_gates(urn: Urn) -> tuple[Gate, ...]:
    """Return the gates of a deletion: a person without an entity in the catalog does not wait for its writers."""
    if urn.type in catalog_urns.PEOPLE_TYPES and not Entity.objects.filter(urn=urn.text).exists():
        return (Gate.PEOPLE,)
    return (Gate.CATALOG, Gate.PEOPLE)


def _require_removal(urn: Urn, *, by: Actor) -> None:
    """Raise Forbidden unless the actor may delete; for a hidden entity as if it were not stored."""
    requests = required_privileges.build_delete_requests(urn)
    if refusal := disclosure.find_write_refusal(by=by, requests=requests, urns=[urn.text]):
        raise refusal


def _record_removal(rows: Sequence[Entity], *, by: str, channel: str) -> None:
    """Record each entity with its newest documents, before the deletion."""
    record = AuditRecord(by=by, channel=channel, at=timezone.now())
    for chunk in _chunks(rows):
        documents: dict[int, dict[str, str]] = defaultdict(dict)
        newest_rows = Aspect.objects.filter(entity_id__among=[row.pk for row in chunk], version=0).order_by("name")
        for entity_id, name, document in newest_rows.values_list("entity_id", "name", "document"):
            documents[entity_id][name] = document
        for row in chunk:
            record.record_removal(row, documents[row.pk])
        record.save()


def _detach_children(parents: list[str], projects: list[str], *, channel: str) -> set[str]:
    """Remove the parent or project from children of deleted entities, in chunks; return the touched URNs."""
    touched_urns: set[str] = set()
    if projects:
        project_members = list(Entity.objects.filter(project__among=projects).values_list("urn", "pk"))
        Facet.objects.filter(entity_id__among=[pk for _, pk in project_members], field=PROJECT).delete()
        Entity.objects.filter(project__among=projects).update(project=None)
        touched_urns |= {urn for urn, _ in project_members}
    children = list(Entity.objects.filter(parent__among=parents).order_by("urn").values_list("urn", "parent"))
    for chunk in map(dict, _chunks(children)):
        rows = Aspect.objects.filter(Q(name__in=_PARENT_ASPECTS), entity__urn__among=list(chunk), version=0)
        changed_documents = {
            (row.entity.urn, row.name): remove_urns(json.loads(row.document), {chunk[row.entity.urn] or ""})
            for row in rows.select_related("entity")
            if chunk[row.entity.urn] in json.loads(row.document).values()
        }
        rewrite(changed_documents, by=SYSTEM.urn, channel=channel)
        touched_urns |= set(chunk)
    return touched_urns


#: Aspects that name a parent.
_PARENT_ASPECTS = ("container", "domainProperties", "glossaryNodeInfo", "glossaryTermInfo")


def _find_mentions(urn: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (entity, aspect) -> document for documents whose facets or parent name the URN."""
    mention_condition = Q(pk__in=Facet.objects.filter(value=urn).values("entity")) | Q(parent=urn)
    entities = Entity.objects.filter(mention_condition).exclude(urn=urn)
    rows = Aspect.objects.filter(entity__in=entities, name__among=sorted(PROJECTED_ASPECTS), version=0)
    documents: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows.select_related("entity").order_by("entity__urn", "name"):
        document = json.loads(row.document)
        if remove_urns(document, {urn}) != document:
            documents[row.entity.urn, row.name] = document
    return documents


def _load_memberships(urn: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return (holder, aspect) -> membership document of users and groups that names the group or role."""
    ties = [
        (_MEMBERSHIP_ASPECTS[name], rows, path)
        for name, rows, _, path in relationships.list_incoming(urns=[urn])
        if name in _MEMBERSHIP_ASPECTS
    ]
    membership_keys = [
        (holder, aspect) for aspect, rows, path in ties for holder in rows.order_by().values_list(path, flat=True)
    ]
    documents = (
        aspect_queries.load_aspects_many(urns=[holder for holder, _ in membership_keys]) if membership_keys else {}
    )
    return {(holder, aspect): documents[holder][aspect] for holder, aspect in membership_keys if holder in documents}


def _leave_groups(memberships: Mapping[tuple[str, str], dict[str, Any]], urn: str, *, by: Actor, channel: str) -> None:
    changes = [
        people_aspects.AspectChange(
            holder,
            catalog_urns.entity_type(holder),
            aspect,
            remove_urns(document, {urn}),
            keeps_unknown=True,
        )
        for (holder, aspect), document in memberships.items()
    ]
    if changes:
        people_aspects.apply(changes=changes, by=by, channel=channel)


_MEMBERSHIP_ASPECTS = {
    "IsMemberOfGroup": "groupMembership",
    "IsMemberOfNativeGroup": "nativeGroupMembership",
    "IsMemberOfRole": "roleMembership",
}


def rewrite(documents: Mapping[tuple[str, str], Any], *, by: str, channel: str) -> None:
    """Write changed documents inside an open write; one that is invalid without the removed reference is deleted."""
    documents_by_entity: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for (urn, aspect), document in documents.items():
        documents_by_entity[urn].append((aspect, document))
    for chunk in _chunks(list(documents_by_entity)):
        write_set = WriteSet(entity_urns=chunk, aspects=(), by=by, channel=channel, now=timezone.now())
        for urn in chunk:
            for aspect, document in documents_by_entity[urn]:
                if register.check(aspect, document):
                    write_set.remove((urn, aspect))
                else:
                    write_set.put((urn, aspect), json.dumps(document, ensure_ascii=False))
        write_set.save()


def _chunks(items: Sequence[ItemT]) -> Iterable[Sequence[ItemT]]:
    return (items[start : start + _CHUNK_SIZE] for start in range(0, len(items), _CHUNK_SIZE))
