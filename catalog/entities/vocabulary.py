"""What entities are described with: tags, domains, glossary terms and their groups, ownership types, data products.

Made with an id of one's own or one made here, renamed, described, moved and deleted, as DataHub's pages and the
Terraform provider do. Everything goes through `proposals` and `deletes`, like the writes of every other door.
"""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from catalog import errors, urns
from catalog.access import aspect_documents, disclosure, entity_lists, view_permissions
from catalog.aspects.annotations import SYSTEM_OWNERSHIP
from catalog.ingest import apply, deletes, required_privileges
from catalog.ingest.apply import ChangeType, Ids, Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Ancestry, Entity
from policies.engine.model import Actor, Missing
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.models import Gate, open_write

#: Longest description, in characters.
MAX_DESCRIPTION_LENGTH = 100_000

_COLOR = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of entities: the aspect that names it, the keys of name and description there, and its kind of parent."""

    aspect: str
    description: str = "description"
    parent: str = ""
    parent_type: str = ""


KINDS: Mapping[str, Kind] = {
    "dataProduct": Kind("dataProductProperties"),
    "domain": Kind("domainProperties", parent="parentDomain", parent_type="domain"),
    "glossaryNode": Kind("glossaryNodeInfo", "definition", "parentNode", "glossaryNode"),
    "glossaryTerm": Kind("glossaryTermInfo", "definition", "parentNode", "glossaryNode"),
    "ownershipType": Kind("ownershipTypeInfo"),
    "tag": Kind("tagProperties"),
}

#: Types of which DataHub wants the text of the description, if only an empty one.
_DESCRIBED = frozenset({"glossaryNode", "glossaryTerm"})


def create(
    *,
    kind: str,
    identifier: str | None,
    name: str,
    description: str = "",
    parent: str | None = None,
    by: Actor,
    door: str,
) -> str:
    """Make an entity of one of `KINDS` but a data product and return its URN; without an id one is made.

    Raises Invalid with what is wrong (an unknown parent included), Forbidden, and Conflict for an id that is taken.
    """
    of = KINDS[kind]
    urn = _urn(kind, identifier)
    document: dict[str, Any] = {"name": _checked_name(name)}
    if description or kind in _DESCRIBED:
        document[of.description] = _checked_description(description)
    if kind == "glossaryTerm":
        document["termSource"] = "INTERNAL"
    with open_write(Gate.CATALOG):
        if parent is not None:
            document[of.parent] = _known(parent, of.parent_type, f"/{of.parent}", by=by)
        now = stamp(by=by, at=timezone.now())
        if kind == "ownershipType":
            document |= {"created": now, "lastModified": now}
        if kind == "domain":
            document["created"] = now
        proposed = [_proposal(urn, of.aspect, document, ChangeType.CREATE_ENTITY)]
        try:
            _make(proposed, {}, by=by, door=door)
        except Forbidden as refusal:
            raise refusal if identifier is not None else _without_entity(refusal, urn) from None
    return urn


def _without_entity(refusal: Forbidden, urn: str) -> Forbidden:
    """Return a refusal that does not name an entity whose id was made for this call: the next one makes another."""
    lists = [
        [Missing(None if one.entity == urn else one.entity, one.privilege) for one in listed]
        for listed in refusal.missing_any
    ]
    return Forbidden(lists[0] if lists else (), missing_any=lists)


def create_product(*, identifier: str | None, name: str, description: str, domain: str, by: Actor, door: str) -> str:
    """Make a data product in a domain and return its URN; who manages the domain's products decides (source 000).

    Raises as `create`.
    """
    urn = _urn("dataProduct", identifier)
    document = {"name": _checked_name(name)} | (
        {"description": _checked_description(description)} if description else {}
    )
    problem = urns.problem(domain, "/domainUrn", ("domain",))
    if problem is not None:
        raise Invalid([problem])
    proposed = [
        _proposal(urn, KINDS["dataProduct"].aspect, document, ChangeType.CREATE_ENTITY),
        _proposal(urn, "domains", {"domains": [domain]}),
    ]
    with open_write(Gate.CATALOG):
        _make(proposed, {urn: Ids()}, by=by, door=door)
        # Afterwards, so that only who may make a product there learns whether there is such a domain.
        _known(domain, "domain", "/domainUrn", by=by)
    return urn


def rename(*, urn: str, name: str, by: Actor, door: str) -> None:
    """Give an entity of one of `KINDS` another name. Raises NotFound, Invalid and Forbidden, as do all changes here."""
    _change(urn, {"name": _checked_name(name)}, by=by, door=door)


def describe(*, urn: str, description: str, by: Actor, door: str) -> None:
    """Set the description of an entity of one of `KINDS`; '' takes it away."""
    of, text = _kind(urn), _checked_description(description)
    keeps_empty = urns.type_of(urn) in _DESCRIBED
    _change(urn, {of.description: text if text or keeps_empty else None}, by=by, door=door)


def update(*, urn: str, name: str | None, description: str | None, by: Actor, door: str) -> None:
    """Set name and description of an entity of one of `KINDS`, those that are given."""
    of = _kind(urn)
    changes: dict[str, Any] = {} if name is None else {"name": _checked_name(name)}
    if description is not None:
        changes[of.description] = _checked_description(description)
    _change(urn, changes, by=by, door=door)


def move(*, urn: str, parent: str | None, by: Actor, door: str) -> None:
    """Put a domain, term or term group under another parent, or under none. Raises Invalid for a loop."""
    of = _kind(urn)
    if not of.parent:
        raise Invalid.one(
            code="urn.type", pointer="/resourceUrn", detail="Only domains, terms and groups have a parent."
        )
    with open_write(Gate.CATALOG):
        if parent is not None:
            _known(parent, of.parent_type, f"/{of.parent}", by=by)
            if parent == urn or Ancestry.objects.filter(node=parent, ancestor=urn).exists():
                raise Invalid.one(
                    code="parent.loop", pointer=f"/{of.parent}", detail="This lies in what is to be moved."
                )
        _change(urn, {of.parent: parent}, by=by, door=door)


def recolor(*, urn: str, color: str, by: Actor, door: str) -> None:
    """Set the colour of a tag, as #RRGGBB."""
    if not _COLOR.fullmatch(color):
        raise Invalid.one(
            code="color", pointer="/colorHex", detail="A colour is written #RRGGBB, with hexadecimal digits."
        )
    _change(urn, {"colorHex": color}, by=by, door=door)


def delete(*, urn: str, by: Actor, door: str) -> None:
    """Delete an entity of one of `KINDS`; one that is gone is no error.

    Raises Conflict for a domain that has domains in it, and for the ownership types that every installation has.
    """
    _kind(urn)
    with open_write(Gate.CATALOG):
        children = Entity.objects.filter(type="domain", parent=urn, is_removed=False)
        is_parent = urns.type_of(urn) == "domain" and children.exists()
        deletes.delete(urn=urn, by=by, door=door)
        # Afterwards, so that only who may delete it learns of them; the refusal takes the deletion back.
        if is_parent:
            raise Conflict(f"Cannot delete domain {urn} which has child domains.")
        if urn.startswith(SYSTEM_OWNERSHIP):
            raise Conflict("The ownership types that DataHub brings stay.")


def _change(urn: str, changes: Mapping[str, Any], *, by: Actor, door: str) -> None:
    """Set keys of the aspect that names an entity; None takes a key away."""
    of = _kind(urn)
    with open_write(Gate.CATALOG):
        if not Entity.objects.filter(urn=urn).exists():
            raise NotFound(f"There is no entity {urn}.")
        disclosure.require_visible(urn=urn, by=by)
        stored = aspect_documents.texts(keys={(urn, of.aspect)}).get((urn, of.aspect))
        document: dict[str, Any] = {"name": urns.parse(urn).identifier} if stored is None else json.loads(stored)
        document |= {key: value for key, value in changes.items() if value is not None}
        for key in [key for key, value in changes.items() if value is None]:
            document.pop(key, None)
        if of.aspect == "ownershipTypeInfo":
            document["lastModified"] = stamp(by=by, at=timezone.now())
        apply.apply(proposals=[_proposal(urn, of.aspect, document)], by=by, door=door)


def _make(proposed: list[Proposal], registered: Mapping[str, Ids], *, by: Actor, door: str) -> None:
    urn = proposed[0].urn
    # Who may make such an entity, and may know of this one, is told that the id is taken; others that they may not.
    if not registered and entity_lists.stored(urns=[urn]) and not view_permissions.hidden(urns=[urn], by=by):
        group = json.loads(proposed[0].document or "{}").get("parentNode")
        if refusal := disclosure.find_refusal(by=by, asks=[required_privileges.creation(urns.parse(urn), group=group)]):
            raise refusal
        raise Conflict(f"{urn} already exists.")
    try:
        apply.apply(proposals=proposed, registered=registered, by=by, door=door)
    except Invalid as error:
        if all(problem.code == errors.ENTITY_EXISTS for problem in error.problems):
            raise Conflict(f"{urn} already exists.") from None
        raise


def _proposal(urn: str, aspect: str, document: Mapping[str, Any], change: str = ChangeType.UPSERT) -> Proposal:
    text = json.dumps(document, ensure_ascii=False)
    # A document that is there may hold fields of other clients; what is changed here keeps them.
    return Proposal(urn, aspect, text, change, place="", document_place="", keeps_unknown=True)


def _kind(urn: str) -> Kind:
    problem = urns.problem(urn, "/urn", tuple(KINDS))
    if problem is not None:
        raise Invalid([problem])
    return KINDS[urns.type_of(urn)]


def _urn(kind: str, identifier: str | None) -> str:
    urn = f"urn:li:{kind}:{str(uuid.uuid4()) if identifier is None else identifier}"
    problem = urns.problem(urn, "/id", (kind,))
    if problem is not None:
        raise Invalid([problem])
    return urn


def _known(urn: str, type_: str, pointer: str, *, by: Actor) -> str:
    problem = urns.problem(urn, pointer, (type_,))
    if problem is not None:
        raise Invalid([problem])
    if not Entity.objects.filter(urn=urn).exists() or view_permissions.hidden(urns=[urn], by=by):
        raise Invalid.one(code="unknown", pointer=pointer, detail=f"There is no {type_} {urn}.")
    return urn


def _checked_name(name: str) -> str:
    if not name.strip():
        raise Invalid.one(code="required", pointer="/name", detail="This field is required.")
    return name


def _checked_description(text: str) -> str:
    if len(text) > MAX_DESCRIPTION_LENGTH:
        detail = f"A description has at most {MAX_DESCRIPTION_LENGTH} characters."
        raise Invalid.one(code="text.long", pointer="/description", detail=detail)
    return text
