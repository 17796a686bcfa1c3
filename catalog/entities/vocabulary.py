"""Vocabulary entities: tags, domains, glossary terms and their groups, ownership types, data products.

Created with a given or generated id, renamed, described, moved and deleted, as by DataHub's pages and the Terraform
provider. Every change is written by `ingest.apply` and `ingest.deletes`, like the writes of every other interface.
"""

import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from catalog import errors, urns
from catalog.access import disclosure, entity_lists, view_permissions
from catalog.aspects.annotations import SYSTEM_OWNERSHIP_TYPE_PREFIX
from catalog.entities.annotations import AnnotationEdit
from catalog.entities.moves import require_known, set_parent
from catalog.ingest import apply, deletes, required_privileges
from catalog.ingest.apply import ChangeType, EntityIds, Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Entity
from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Conflict, Forbidden, Invalid
from policies.models import Gate, open_write

#: Maximum length of a description, in characters.
MAX_DESCRIPTION_LENGTH = 100_000

_COLOR_PATTERN = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")


@dataclass(frozen=True, slots=True)
class VocabularyType:
    """A type of entities: aspect of its name, keys of description and parent in it, type of its parent."""

    aspect: str
    description: str = "description"
    parent: str = ""
    parent_type: str = ""


VOCABULARY_TYPES: Mapping[str, VocabularyType] = {
    "dataProduct": VocabularyType("dataProductProperties"),
    "domain": VocabularyType("domainProperties", parent="parentDomain", parent_type="domain"),
    "glossaryNode": VocabularyType("glossaryNodeInfo", "definition", "parentNode", "glossaryNode"),
    "glossaryTerm": VocabularyType("glossaryTermInfo", "definition", "parentNode", "glossaryNode"),
    "ownershipType": VocabularyType("ownershipTypeInfo"),
    "tag": VocabularyType("tagProperties"),
}

#: Types for which DataHub requires the description key, even if empty.
_TYPES_REQUIRING_DESCRIPTION = frozenset({"glossaryNode", "glossaryTerm"})


def create(
    *,
    kind: str,
    identifier: str | None,
    name: str,
    description: str = "",
    parent: str | None = None,
    by: Actor,
    channel: str,
) -> str:
    """Create an entity of any of `VOCABULARY_TYPES` but data product and return its URN; the id defaults to a new UUID.

    Raises Invalid with the problem (an unknown parent included), Forbidden, and Conflict for an existing id.
    """
    vocabulary_type = VOCABULARY_TYPES[kind]
    urn = _build_urn(kind, identifier)
    document: dict[str, Any] = {"name": _validate_name(name)}
    if description or kind in _TYPES_REQUIRING_DESCRIPTION:
        document[vocabulary_type.description] = _validate_description(description)
    if kind == "glossaryTerm":
        document["termSource"] = "INTERNAL"
    with open_write(Gate.CATALOG):
        if parent is not None:
            document[vocabulary_type.parent] = require_known(
                parent, vocabulary_type.parent_type, f"/{vocabulary_type.parent}", by=by
            )
        audit_stamp = stamp(by=by, at=timezone.now())
        if kind == "ownershipType":
            document |= {"created": audit_stamp, "lastModified": audit_stamp}
        if kind == "domain":
            document["created"] = audit_stamp
        new_proposals = [_build_proposal(urn, vocabulary_type.aspect, document, ChangeType.CREATE_ENTITY)]
        try:
            _apply_creation(new_proposals, {}, by=by, channel=channel)
        except Forbidden as refusal:
            raise refusal if identifier is not None else _without_entity(refusal, urn) from None
    return urn


def _without_entity(refusal: Forbidden, urn: str) -> Forbidden:
    """Return a refusal without the entity whose id was generated for this call: the next call generates another."""
    lists = [
        [
            MissingPrivilege(
                None if missing_privilege.entity == urn else missing_privilege.entity, missing_privilege.privilege
            )
            for missing_privilege in missing_list
        ]
        for missing_list in refusal.missing_any
    ]
    return Forbidden(lists[0] if lists else (), missing_any=lists)


def create_product(*, identifier: str | None, name: str, description: str, domain: str, by: Actor, channel: str) -> str:
    """Create a data product in a domain and return its URN; the domain decides who may (source 000).

    Raises the errors of `create`.
    """
    urn = _build_urn("dataProduct", identifier)
    document = {"name": _validate_name(name)} | (
        {"description": _validate_description(description)} if description else {}
    )
    problem = urns.find_problem(domain, "/domainUrn", ("domain",))
    if problem is not None:
        raise Invalid([problem])
    new_proposals = [
        _build_proposal(urn, VOCABULARY_TYPES["dataProduct"].aspect, document, ChangeType.CREATE_ENTITY),
        _build_proposal(urn, "domains", {"domains": [domain]}),
    ]
    with open_write(Gate.CATALOG):
        _apply_creation(new_proposals, {urn: EntityIds()}, by=by, channel=channel)
        # Checked last, so that only a caller who may create a product there learns whether the domain exists.
        require_known(domain, "domain", "/domainUrn", by=by)
    return urn


def update(*, urn: str, name: str | None = None, description: str | None = None, by: Actor, channel: str) -> None:
    """Set name and description of an entity of one of `VOCABULARY_TYPES`, where given; '' removes a description.

    Raises NotFound, Invalid and Forbidden, as do all changes here.
    """
    vocabulary_type = _require_type(urn)
    changes: dict[str, Any] = {} if name is None else {"name": _validate_name(name)}
    if description is not None:
        keeps_empty = urns.entity_type(urn) in _TYPES_REQUIRING_DESCRIPTION
        text = _validate_description(description)
        changes[vocabulary_type.description] = text if text or keeps_empty else None
    _change(urn, changes, by=by, channel=channel)


def move(*, urn: str, parent: str | None, by: Actor, channel: str) -> None:
    """Move a domain, term or term group under another parent, or to the top. Raises Invalid for a loop."""
    vocabulary_type = _require_type(urn)
    if not vocabulary_type.parent:
        raise Invalid.from_problem(
            code="urn.type", pointer="/resourceUrn", detail="Only domains, terms and groups have a parent."
        )
    with open_write(Gate.CATALOG):
        set_parent(AnnotationEdit([urn], by, channel), parent, pointer=f"/{vocabulary_type.parent}")


def recolor(*, urn: str, color: str, by: Actor, channel: str) -> None:
    """Set the colour of a tag, as #RRGGBB or #RGB."""
    if not _COLOR_PATTERN.fullmatch(color):
        raise Invalid.from_problem(
            code="color", pointer="/colorHex", detail="A colour is written #RRGGBB, with hexadecimal digits."
        )
    _change(urn, {"colorHex": color}, by=by, channel=channel)


def delete(*, urn: str, by: Actor, channel: str) -> None:
    """Delete an entity of one of `VOCABULARY_TYPES`; a missing one is no error.

    Raises Conflict for a domain that contains domains, and for the ownership types of every installation.
    """
    _require_type(urn)
    with open_write(Gate.CATALOG):
        children = Entity.objects.filter(type="domain", parent=urn, is_removed=False)
        is_parent = urns.entity_type(urn) == "domain" and children.exists()
        deletes.delete(urn=urn, by=by, channel=channel)
        # Checked last, so that only a caller who may delete it learns of them; the refusal rolls the deletion back.
        if is_parent:
            raise Conflict(f"Cannot delete domain {urn} which has child domains.")
        if urn.startswith(SYSTEM_OWNERSHIP_TYPE_PREFIX):
            raise Conflict("The ownership types that DataHub brings stay.")


def _change(urn: str, changes: Mapping[str, Any], *, by: Actor, channel: str) -> None:
    """Set keys of the aspect with an entity's name; None removes a key."""

    def change(document: dict[str, Any], _audit_stamp: dict[str, Any]) -> None:
        if not document:
            document["name"] = urns.parse(urn).identifier
        for key, value in changes.items():
            document[key] = value
            if value is None:
                del document[key]

    AnnotationEdit([urn], by, channel).write(_require_type(urn).aspect, change)


def _apply_creation(
    new_proposals: list[Proposal], registrations: Mapping[str, EntityIds], *, by: Actor, channel: str
) -> None:
    urn = new_proposals[0].urn
    # Report a taken id to callers who may create such an entity and view this one; to others, only the refusal.
    if (
        not registrations
        and entity_lists.list_stored_urns(urns=[urn])
        and not view_permissions.find_hidden(urns=[urn], by=by)
    ):
        group = json.loads(new_proposals[0].document or "{}").get("parentNode")
        if refusal := disclosure.find_refusal(
            by=by, requests=[required_privileges.build_create_request(urns.parse(urn), group=group)]
        ):
            raise refusal
        raise Conflict(f"{urn} already exists.")
    try:
        apply.apply(proposals=new_proposals, registrations=registrations, by=by, channel=channel)
    except Invalid as error:
        if all(problem.code == errors.ENTITY_EXISTS for problem in error.problems):
            raise Conflict(f"{urn} already exists.") from None
        raise


def _build_proposal(urn: str, aspect: str, document: Mapping[str, Any], change: str = ChangeType.UPSERT) -> Proposal:
    text = json.dumps(document, ensure_ascii=False)
    # An existing document may hold fields of other clients; the edit keeps them.
    return Proposal(urn, aspect, text, change, pointer="", document_pointer="", keeps_unknown=True)


def _require_type(urn: str) -> VocabularyType:
    problem = urns.find_problem(urn, "/urn", tuple(VOCABULARY_TYPES))
    if problem is not None:
        raise Invalid([problem])
    return VOCABULARY_TYPES[urns.entity_type(urn)]


def _build_urn(kind: str, identifier: str | None) -> str:
    urn = f"urn:li:{kind}:{str(uuid.uuid4()) if identifier is None else identifier}"
    problem = urns.find_problem(urn, "/id", (kind,))
    if problem is not None:
        raise Invalid([problem])
    return urn


def _validate_name(name: str) -> str:
    if not name.strip():
        raise Invalid.from_problem(code="required", pointer="/name", detail="This field is required.")
    return name


def _validate_description(text: str) -> str:
    if len(text) > MAX_DESCRIPTION_LENGTH:
        detail = f"A description has at most {MAX_DESCRIPTION_LENGTH} characters."
        raise Invalid.from_problem(code="text.long", pointer="/description", detail=detail)
    return text
