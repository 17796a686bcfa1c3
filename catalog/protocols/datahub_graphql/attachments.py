"""What people attach to entities: tags, terms, owners, domains, descriptions, links, deprecation and soft deletion.

Each is one write of all the entities named, all or none.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from ariadne import MutationType

from catalog import urns
from catalog.access import entity_lists, view_permissions
from catalog.aspects.annotations import SYSTEM_OWNERSHIP
from catalog.entities import annotations, vocabulary
from catalog.entities.annotations import Link, Owner
from catalog.protocols.datahub_graphql.authentication import DOOR
from catalog.protocols.datahub_graphql.context import Info
from catalog.protocols.datahub_graphql.entities import checked
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.pdp import display_names

mutation = MutationType()

#: Most entries of each list of an input: entities, tags, terms, owners.
MAX_ENTRIES = 100
#: Most pairs of an entity and what is attached to it, in one call; each is an entry of a document that is written.
MAX_PAIRS = 2_000
#: Latest time that a deprecation can name, in milliseconds: the end of the year 9999.
_MAX_MILLISECONDS = 253_402_300_799_000

Entry = TypeVar("Entry")


@mutation.field("addTag")
@mutation.field("addTags")
@mutation.field("batchAddTags")
@mutation.field("removeTag")
@mutation.field("batchRemoveTags")
def tag(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add tags to entities, or take them off."""
    tags, is_added = _named(input, "tag"), _is_added(info)
    annotations.edit_tags(
        urns=_resources(input, tags),
        add=tags if is_added else (),
        remove=() if is_added else tags,
        seen=None,
        by=info.context.by,
        door=DOOR,
    )
    return True


@mutation.field("addTerm")
@mutation.field("addTerms")
@mutation.field("batchAddTerms")
@mutation.field("removeTerm")
@mutation.field("batchRemoveTerms")
def term(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Apply glossary terms to entities, or take them back."""
    terms, is_added = _named(input, "term"), _is_added(info)
    annotations.edit_terms(
        urns=_resources(input, terms),
        add=terms if is_added else (),
        remove=() if is_added else terms,
        seen=None,
        by=info.context.by,
        door=DOOR,
    )
    return True


@mutation.field("addOwner")
@mutation.field("addOwners")
@mutation.field("batchAddOwners")
def add_owners(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add owners to entities; they and their ownership types have to be there."""
    entries = bounded(input.get("owners", [input]), "/owners")
    pairs = owner_pairs(entries, default=input.get("ownershipTypeUrn"))
    _check_stored([one for pair in pairs for one in pair if one], by=info.context.by)
    annotations.edit_owners(
        urns=_resources(input, pairs), add=pairs, remove=(), seen=None, by=info.context.by, door=DOOR
    )
    return True


@mutation.field("removeOwner")
@mutation.field("batchRemoveOwners")
def remove_owners(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Take owners off entities, as owners of one type or of every."""
    owners = bounded(input.get("ownerUrns") or [input["ownerUrn"]], "/ownerUrns")
    named, by, type_ = _resources(input, owners), info.context.by, input.get("ownershipTypeUrn")
    if type_ is None:
        annotations.remove_owners(urns=named, owners=owners, by=by, door=DOOR)
    else:
        pairs = [(owner, type_) for owner in owners]
        annotations.edit_owners(urns=named, add=(), remove=pairs, seen=None, by=by, door=DOOR)
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
    """Put an entity into one domain, or into none."""
    _set_domain([entityUrn], domainUrn, info)
    return True


@mutation.field("batchSetDomain")
def set_domains(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Put entities into one domain, or into none."""
    _set_domain(_resources(input), input.get("domainUrn"), info)
    return True


@mutation.field("addLink")
@mutation.field("updateLink")
@mutation.field("removeLink")
def link(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Add a link to a page about an entity, change it or take it away."""
    verb = info.field_name.removesuffix("Link")
    known = {"add": None, "update": input.get("currentUrl"), "remove": input["linkUrl"]}[verb]
    label = input.get("currentLabel") if verb == "update" else input.get("label") if verb == "remove" else None
    annotations.edit_link(
        urn=checked(input["resourceUrn"]),
        known=known,
        label=label,
        link=None if verb == "remove" else Link(input["linkUrl"], input["label"]),
        by=info.context.by,
        door=DOOR,
    )
    return True


@mutation.field("updateDescription")
def describe(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Set the description of an entity."""
    (urn,) = _resources(input)
    by, text = info.context.by, input["description"]
    if urns.type_of(urn) in vocabulary.KINDS:
        vocabulary.describe(urn=urn, description=text, by=by, door=DOOR)
    else:
        annotations.describe(urn=urn, text=text, seen=None, by=by, door=DOOR)
    return True


@mutation.field("updateDeprecation")
@mutation.field("batchUpdateDeprecation")
def deprecate(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Say whether entities should still be used."""
    moment = input.get("decommissionTime")
    if moment is not None and not 0 <= moment <= _MAX_MILLISECONDS:
        raise Invalid.one(code="range", pointer="/decommissionTime", detail="This is no time in milliseconds.")
    annotations.deprecate(
        urns=_resources(input),
        is_deprecated=input["deprecated"],
        note=input.get("note") or "",
        leaves_at=None if moment is None else datetime.fromtimestamp(moment / 1000, UTC),
        seen=None,
        by=info.context.by,
        door=DOOR,
    )
    return True


@mutation.field("batchUpdateSoftDeleted")
def set_removed(_root: None, info: Info, *, input: Mapping[str, Any]) -> bool:
    """Delete entities softly, or take that back."""
    named = [checked(urn) for urn in bounded(input["urns"], "/urns")]
    annotations.set_removed(urns=named, is_removed=input["deleted"], by=info.context.by, door=DOOR)
    return True


def bounded(entries: Sequence[Entry], pointer: str) -> Sequence[Entry]:
    """Return the entries of a list; raises Invalid for one that is too long."""
    if len(entries) > MAX_ENTRIES:
        raise Invalid.one(code="list.long", pointer=pointer, detail=f"This list has at most {MAX_ENTRIES} entries.")
    return entries


def owner_pairs(
    entries: Iterable[Mapping[str, Any]], *, key: str = "ownerUrn", default: str | None = None
) -> list[Owner]:
    """Return the owners of an input with their ownership types; the older `type` names one that DataHub brings."""
    found = []
    for one in entries:
        named = one.get("ownershipTypeUrn") or default
        legacy = f"{SYSTEM_OWNERSHIP}{(one.get('type') or 'NONE').lower()}"
        found.append((checked(one[key], "corpuser", "corpGroup"), checked(named or legacy, "ownershipType")))
    return found


def _resources(input: Mapping[str, Any], attached: Sequence[object] = ()) -> list[str]:
    """Return the entities that an input names. Raises Invalid for parts of them, and where too much is attached."""
    entries = [one for one in bounded(input.get("resources", [input]), "/resources") if one is not None]
    if any(one.get("subResource") or one.get("subResourceType") for one in entries):
        detail = "Columns are described by ingestion, as editableSchemaMetadata of their dataset."
        raise Invalid.one(code="subresource", pointer="/subResource", detail=detail)
    if len(entries) * len(attached) > MAX_PAIRS:
        detail = f"One call attaches at most {MAX_PAIRS} times: name fewer entities, or fewer things to attach."
        raise Invalid.one(code="list.long", pointer="/resources", detail=detail)
    return [checked(one["resourceUrn"] if "resourceUrn" in one else one["urn"]) for one in entries]


def _named(input: Mapping[str, Any], what: str) -> Sequence[str]:
    return bounded(input.get(f"{what}Urns") or [input[f"{what}Urn"]], f"/{what}Urns") if _has(input, what) else ()


def _has(input: Mapping[str, Any], what: str) -> bool:
    return bool(input.get(f"{what}Urns")) or f"{what}Urn" in input


def _is_added(info: Info) -> bool:
    return info.field_name.startswith(("add", "batchAdd"))


def _set_domain(named: Sequence[str], domain: str | None, info: Info) -> None:
    if domain is not None:
        _check_stored([checked(domain, "domain")], by=info.context.by)
    annotations.set_domain(urns=[checked(urn) for urn in named], domain=domain, by=info.context.by, door=DOOR)


def _check_stored(named: Sequence[str], *, by: Actor) -> None:
    """Raise Invalid naming those that nothing is stored of; who is named as an owner has to be there."""
    known = (entity_lists.stored(urns=named) - view_permissions.hidden(urns=named, by=by)) | display_names.names(
        urns=named
    ).keys()
    problems = [Problem("unknown", "", f"There is no {urns.type_of(urn)} {urn}.") for urn in named if urn not in known]
    if problems:
        raise Invalid(problems)


BINDABLES = (mutation,)
