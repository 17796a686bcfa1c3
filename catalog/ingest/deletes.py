"""Taking entities out of the catalog, and taking the mention of an entity out of the documents of others."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q
from django.utils import timezone

from catalog import urns as urn_room
from catalog.access import disclosure, entity_lists, grant_source, view_permissions
from catalog.aspects import register
from catalog.aspects.base import PROJECT
from catalog.aspects.register import PROJECTING
from catalog.ingest import hierarchy_closure, required_privileges
from catalog.ingest.audit import Record
from catalog.ingest.write_set import Ledger
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

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Removed:
    """What a deletion took: the entity and the number of documents, versions included."""

    urn: str
    rows: int


@dataclass(frozen=True, slots=True)
class Mention:
    """A document of another entity that names the URN."""

    urn: str
    aspect: str


@retry_deadlock
def delete(*, urn: str, by: Actor, door: str, is_open: bool = False) -> Removed:
    """Remove an entity for good: its documents, facets and grants. An entity nobody knows is no problem.

    Users, groups, roles and policies are removed like on their pages. Children stay and lose their parent, but for what
    lies in a CDAP entity, which goes with it. Raises Invalid for what is no URN, Forbidden, and Conflict for the CDAP
    instance.
    """
    problem = urn_room.problem(urn, "/urn")
    if problem is not None:
        raise Invalid([problem])
    parsed = urn_room.parse(urn)
    with open_write(*_gates_of(parsed)):
        if parsed.type in urn_room.PEOPLE_TYPES and aspect_queries.aspects_of(urn=urn) is not None:
            people_aspects.remove(urn=urn, by=by, door=door)
        elif parsed.type in urn_room.PEOPLE_TYPES or not is_open:
            _require_removal(parsed, by=by)
        rows = Aspect.objects.filter(entity__urn=urn).count()
        forget(urns=[urn], by=by.urn, door=door)
    return Removed(urn, rows)


def forget(*, urns: Sequence[str], by: str, door: str) -> frozenset[str]:
    """Remove entities inside the transaction of a write that was authorized; return every URN that was touched.

    With a CDAP entity goes what lies in it, and every grant there (rules/cdap.md CD-17). Raises Conflict for the
    instance, which is there from the start.
    """
    if INSTANCE_URN in urns:
        raise Conflict("The CDAP instance stays.")
    # Grants are given behind the gate PEOPLE: none must be given on what goes.
    with open_write(Gate.PEOPLE):
        return _forget(urns, by=by, door=door)


def _forget(urns: Sequence[str], *, by: str, door: str) -> frozenset[str]:
    doomed = list(dict.fromkeys((*urns, *entity_lists.within(urns=urns))))
    rows = list(Entity.objects.filter(urn__among=doomed).order_by())
    projects = [row.object_id for row in rows if row.type == "project" and row.object_id is not None]
    grant_source.end_within(urns=doomed)
    _record_removal(rows, by=by, door=door)
    Entity.objects.filter(pk__among=[row.pk for row in rows]).delete()
    touched = set(doomed) | _orphan(doomed, projects, door=door)
    hierarchy_closure.rewrite(nodes=doomed)
    objects = {urn_room.make(row.type, row.object_id) for row in rows if row.object_id is not None}
    PolicyVersion.touch(touched | objects, doomed)
    return frozenset(touched)


def references(*, urn: str, by: Actor, door: str, dry_run: bool, is_open: bool = False) -> list[Mention]:
    """Take the mention of a URN out of the documents of others; return the documents that name it.

    Documents are those of the catalog that yield facts, and memberships of groups and roles. Policies keep naming what
    they name: without it they could speak to others. With `dry_run` nothing is written and nothing is asked: the door
    shows only what its caller may view. Otherwise it needs what deleting the entity needs, and what leaving each group
    or role needs.
    """
    problem = urn_room.problem(urn, "/urn")
    if problem is not None:
        raise Invalid([problem])
    parsed = urn_room.parse(urn)
    if not dry_run and not (is_open and parsed.type not in urn_room.PEOPLE_TYPES):
        _require_removal(parsed, by=by)
    if dry_run:
        return _listed(_mentions(urn), _memberships(urn))
    # Behind the gates, so that nobody changes what is read now before it is written.
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        found, memberships = _mentions(urn), _memberships(urn)
        _rewrite({key: without(document, urn) for key, document in found.items()}, by=by.urn, door=door)
        _leave(memberships, urn, by=by, door=door)
    return _listed(found, memberships)


def _listed(*found: Mapping[tuple[str, str], Any]) -> list[Mention]:
    return [Mention(*key) for key in sorted({key for some in found for key in some})]


def _gates_of(urn: Urn) -> tuple[Gate, ...]:
    """Return the gates of a deletion: somebody of whom the catalog has nothing goes without waiting for its writers."""
    if urn.type in urn_room.PEOPLE_TYPES and not Entity.objects.filter(urn=urn.text).exists():
        return (Gate.PEOPLE,)
    return (Gate.CATALOG, Gate.PEOPLE)


def without(document: Any, urn: str) -> Any:
    """Return a document without a URN: entries of lists that are it or name it go, and so do keys that hold it."""
    if isinstance(document, dict):
        return {key: without(value, urn) for key, value in document.items() if value != urn}
    if isinstance(document, list):
        return [without(entry, urn) for entry in document if not _names(entry, urn)]
    return document


def _names(entry: Any, urn: str) -> bool:
    return entry == urn or (isinstance(entry, dict) and urn in entry.values())


def _require_removal(urn: Urn, *, by: Actor) -> None:
    """Let the actor go on, or raise Forbidden; of what it may not view in the words for what is not stored."""
    asks = required_privileges.removal(urn)
    if refusal := disclosure.find_refusal(by=by, asks=asks):
        unseen = view_permissions.hidden(urns=[urn.text], by=by)
        raise disclosure.find_refusal_as_absent(by=by, asks=asks, unseen=unseen) if unseen else refusal


def _record_removal(rows: Sequence[Entity], *, by: str, door: str) -> None:
    """Note each entity with its newest documents, before they go."""
    record = Record(by=by, door=door, at=timezone.now())
    for start in range(0, len(rows), _CHUNK):
        some = rows[start : start + _CHUNK]
        documents: dict[int, dict[str, str]] = defaultdict(dict)
        newest = Aspect.objects.filter(entity_id__among=[row.pk for row in some], version=0).order_by("name")
        for number, name, document in newest.values_list("entity_id", "name", "document"):
            documents[number][name] = document
        for row in some:
            record.removed(row, documents[row.pk])
        record.save()


def _orphan(parents: list[str], projects: list[str], *, door: str) -> set[str]:
    """Let go of the children of what was removed, some hundreds at a time."""
    touched: set[str] = set()
    if projects:
        moved = list(Entity.objects.filter(project__among=projects).values_list("urn", "pk"))
        Facet.objects.filter(entity_id__among=[pk for _, pk in moved], field=PROJECT).delete()
        Entity.objects.filter(project__among=projects).update(project=None)
        touched |= {urn for urn, _ in moved}
    children = list(Entity.objects.filter(parent__among=parents).order_by("urn").values_list("urn", "parent"))
    for start in range(0, len(children), _CHUNK):
        some = dict(children[start : start + _CHUNK])
        rows = Aspect.objects.filter(Q(name__in=_PARENTHOOD), entity__urn__among=list(some), version=0)
        changed = {
            (row.entity.urn, row.name): without(json.loads(row.document), some[row.entity.urn] or "")
            for row in rows.select_related("entity")
            if some[row.entity.urn] in json.loads(row.document).values()
        }
        _rewrite(changed, by=SYSTEM.urn, door=door)
        touched |= set(some)
    return touched


#: Aspects that name a parent.
_PARENTHOOD = ("container", "domainProperties", "glossaryNodeInfo", "glossaryTermInfo")


def _mentions(urn: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the documents whose facets or parent name the URN, by (entity, aspect)."""
    named = Q(pk__in=Facet.objects.filter(value=urn).values("entity")) | Q(parent=urn)
    entities = Entity.objects.filter(named).exclude(urn=urn)
    rows = Aspect.objects.filter(entity__in=entities, name__among=sorted(PROJECTING), version=0)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows.select_related("entity").order_by("entity__urn", "name"):
        document = json.loads(row.document)
        if without(document, urn) != document:
            found[row.entity.urn, row.name] = document
    return found


def _memberships(urn: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the membership documents of users and groups that name the group or role, by (holder, aspect)."""
    ties = [
        (_MEMBERSHIPS[name], rows, path) for name, rows, path in relationships.incoming(urn=urn) if name in _MEMBERSHIPS
    ]
    named = [(holder, aspect) for aspect, rows, path in ties for holder in rows.order_by().values_list(path, flat=True)]
    documents = aspect_queries.aspects_of_many(urns=[holder for holder, _ in named]) if named else {}
    return {(holder, aspect): documents[holder][aspect] for holder, aspect in named if holder in documents}


def _leave(memberships: Mapping[tuple[str, str], dict[str, Any]], urn: str, *, by: Actor, door: str) -> None:
    changes = [
        people_aspects.AspectChange(
            holder, urn_room.type_of(holder), aspect, without(document, urn), keeps_unknown=True
        )
        for (holder, aspect), document in memberships.items()
    ]
    if changes:
        people_aspects.apply(changes=changes, by=by, door=door)


_MEMBERSHIPS = {
    "IsMemberOfGroup": "groupMembership",
    "IsMemberOfNativeGroup": "nativeGroupMembership",
    "IsMemberOfRole": "roleMembership",
}


def _rewrite(changed: Mapping[tuple[str, str], Any], *, by: str, door: str) -> None:
    """Write documents that lost something; one that is nothing without it goes as a whole."""
    by_entity: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for (urn, aspect), document in changed.items():
        by_entity[urn].append((aspect, document))
    for some in _chunks(list(by_entity)):
        ledger = Ledger(wanted=some, aspects=(), by=by, door=door, now=timezone.now())
        for urn in some:
            for aspect, document in by_entity[urn]:
                if register.check(aspect, document):
                    ledger.remove((urn, aspect))
                else:
                    ledger.put((urn, aspect), json.dumps(document, ensure_ascii=False))
        ledger.save()


def _chunks(urns: list[str]) -> Iterable[list[str]]:
    return (urns[start : start + _CHUNK] for start in range(0, len(urns), _CHUNK))
