"""Mutations of annotations: tags, terms, owners, domains, descriptions, links, deprecation and soft deletion.

Each is one write of all listed entities, all or none.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ariadne import MutationType

from catalog import urns
from catalog.aspects.annotations import SYSTEM_OWNERSHIP_TYPE_PREFIX
from catalog.entities import annotations, references, vocabulary
from catalog.entities.annotations import AnnotationEdit, EntityLink, OwnerPair
from catalog.protocols.datahub_graphql.authentication import CHANNEL
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import validate_entries, validate_urn
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid

mutation = MutationType()

#: Most pairs of entity and attachment in one call; each is an entry of a document that is written.
MAX_PAIRS = 2_000
#: Latest decommission time in milliseconds: the end of the year 9999.
_MAX_MILLISECONDS = 253_402_300_799_000


@mutation.field("addTag")
@mutation.field("addTags")
@mutation.field("batchAddTags")
@mutation.field("removeTag")
@mutation.field("batchRemoveTags")
def edit_tags(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add tags to entities, or remove them."""
    return _edit_attachments(info, input, "tag", "globalTags")


@mutation.field("addTerm")
@mutation.field("addTerms")
@mutation.field("batchAddTerms")
@mutation.field("removeTerm")
@mutation.field("batchRemoveTerms")
def edit_terms(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add glossary terms to entities, or remove them."""
    return _edit_attachments(info, input, "term", "glossaryTerms")


def _edit_attachments(info: Info, input: Mapping[str, Any], member: str, aspect: str) -> bool:
    attached_urns = _parse_attachment_urns(input, member)
    verb = "add" if info.field_name.startswith(("add", "batchAdd")) else "remove"
    edit = build_edit(_parse_resource_urns(input, attached_urns), info)
    annotations.edit_urns(edit, aspect, **{verb: attached_urns})
    return True


@mutation.field("addOwner")
@mutation.field("addOwners")
@mutation.field("batchAddOwners")
def add_owners(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add owners to entities. Raises Invalid for owners and ownership types that do not exist."""
    entries = validate_entries(input.get("owners", [input]), "/owners")
    pairs = parse_owner_pairs(entries, default=input.get("ownershipTypeUrn"))
    check_owner_pairs(pairs, by=info.context.by)
    annotations.edit_owners(build_edit(_parse_resource_urns(input, pairs), info), add=pairs)
    return True


@mutation.field("removeOwner")
@mutation.field("batchRemoveOwners")
def remove_owners(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Remove owners from entities, with one ownership type or with every."""
    owners = _parse_attachment_urns(input, "owner")
    edit, type_ = build_edit(_parse_resource_urns(input, owners), info), input.get("ownershipTypeUrn")
    if type_ is None:
        annotations.remove_owners(edit, owners)
    else:
        annotations.edit_owners(edit, remove=[(owner, type_) for owner in owners])
    return True


@mutation.field("setDomain")
@mutation.field("unsetDomain")
def set_domain(
    _root: None,
    info: Info,
    *,
    entityUrn: str,  # noqa: N803  # the schema's
    domainUrn: str | None = None,  # noqa: N803  # the schema's
) -> bool:
    """Set or clear the domain of an entity."""
    _set_domain([entityUrn], domainUrn, info)
    return True


@mutation.field("batchSetDomain")
def set_domains(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Set or clear the domain of several entities."""
    _set_domain(_parse_resource_urns(input), input.get("domainUrn"), info)
    return True


@mutation.field("addLink")
@mutation.field("updateLink")
@mutation.field("removeLink")
def edit_link(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add, change or remove a link to a page about an entity."""
    verb = info.field_name.removesuffix("Link")
    current_url = {"add": None, "update": input.get("currentUrl"), "remove": input["linkUrl"]}[verb]
    label = input.get("currentLabel") if verb == "update" else input.get("label") if verb == "remove" else None
    link = None if verb == "remove" else EntityLink(input["linkUrl"], input["label"])
    edit = build_edit([validate_urn(input["resourceUrn"])], info)
    annotations.edit_link(edit, current_url=current_url, label=label, link=link)
    return True


@mutation.field("updateDescription")
def update_description(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Set the description of an entity."""
    (urn,) = _parse_resource_urns(input)
    text = input["description"]
    if urns.entity_type(urn) in vocabulary.VOCABULARY_TYPES:
        vocabulary.update(urn=urn, description=text, by=info.context.by, channel=CHANNEL)
    else:
        annotations.set_description(build_edit([urn], info), text)
    return True


@mutation.field("updateDeprecation")
@mutation.field("batchUpdateDeprecation")
def update_deprecation(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Mark entities as deprecated, or undo that."""
    moment = input.get("decommissionTime")
    if moment is not None and not 0 <= moment <= _MAX_MILLISECONDS:
        raise Invalid.from_problem(code="range", pointer="/decommissionTime", detail="This is no time in milliseconds.")
    annotations.set_deprecation(
        build_edit(_parse_resource_urns(input), info),
        is_deprecated=input["deprecated"],
        note=input.get("note") or "",
        decommission_time=None if moment is None else datetime.fromtimestamp(moment / 1000, UTC),
    )
    return True


@mutation.field("batchUpdateSoftDeleted")
def set_removed(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Soft-delete entities, or undo that."""
    entity_urns = [validate_urn(urn) for urn in validate_entries(input["urns"], "/urns")]
    annotations.set_removed(build_edit(entity_urns, info), is_removed=input["deleted"])
    return True


def build_edit(entity_urns: Sequence[str], info: Info) -> AnnotationEdit:
    """Return the edit of these entities by the caller."""
    return AnnotationEdit(entity_urns, info.context.by, CHANNEL)


def parse_owner_pairs(
    entries: Iterable[Mapping[str, Any]], *, key: str = "ownerUrn", default: str | None = None
) -> list[OwnerPair]:
    """Return the owners of an input with their ownership types; the older `type` becomes a built-in type of DataHub."""
    pairs = []
    for entry in entries:
        type_urn = entry.get("ownershipTypeUrn") or default
        legacy_type_urn = f"{SYSTEM_OWNERSHIP_TYPE_PREFIX}{(entry.get('type') or 'NONE').lower()}"
        pairs.append(
            (
                validate_urn(entry[key], "corpuser", "corpGroup"),
                validate_urn(type_urn or legacy_type_urn, "ownershipType"),
            )
        )
    return pairs


def check_owner_pairs(pairs: Iterable[OwnerPair], *, by: Actor) -> None:
    """Raise Invalid with the owners and ownership types that do not exist; removed owners do not."""
    _check_stored(list(dict.fromkeys(urn for pair in pairs for urn in pair if urn)), by=by)


def check_pair_count(entries: Sequence[object], attachments: Sequence[object]) -> None:
    """Raise Invalid for too many pairs of an entity and what is attached to it."""
    if len(entries) * len(attachments) > MAX_PAIRS:
        detail = f"One call attaches at most {MAX_PAIRS} times: name fewer entities, or fewer things to attach."
        raise Invalid.from_problem(code="list.long", pointer="/resources", detail=detail)


def _parse_resource_urns(input: Mapping[str, Any], attachments: Sequence[object] = ()) -> list[str]:
    """Return the entity URNs of an input. Raises Invalid for columns, and for too many entries or attachments."""
    entries = [entry for entry in validate_entries(input.get("resources", [input]), "/resources") if entry is not None]
    if any(entry.get("subResource") or entry.get("subResourceType") for entry in entries):
        detail = "Columns are described by ingestion, as editableSchemaMetadata of their dataset."
        raise Invalid.from_problem(code="subresource", pointer="/subResource", detail=detail)
    check_pair_count(entries, attachments)
    return [validate_urn(entry["resourceUrn"] if "resourceUrn" in entry else entry["urn"]) for entry in entries]


def _parse_attachment_urns(input: Mapping[str, Any], member: str) -> Sequence[str]:
    name = f"{member}Urns"
    return validate_entries(input[name] if name in input else [input[f"{member}Urn"]], f"/{name}")


def _set_domain(entity_urns: Sequence[str], domain: str | None, info: Info) -> None:
    if domain is not None:
        _check_stored([validate_urn(domain, "domain")], by=info.context.by)
    annotations.set_domain(build_edit([validate_urn(urn) for urn in entity_urns], info), domain)


def _check_stored(required_urns: Sequence[str], *, by: Actor) -> None:
    """Raise Invalid with the URNs that do not exist for the caller."""
    unknown_urns = references.find_unknown(urns=required_urns, by=by)
    problems = [
        Problem("unknown", "", f"There is no {urns.entity_type(urn)} {urn}.")
        for urn in required_urns
        if urn in unknown_urns
    ]
    if problems:
        raise Invalid(problems)


BINDABLES = (mutation,)
