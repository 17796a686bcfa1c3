"""Aspects that any entity may have: owners, tags, terms, domains, status and notes."""

from typing import Any

from catalog.aspects.base import (
    AnyUrn,
    AspectFacts,
    DocumentPart,
    DomainUrn,
    FacetValue,
    Name,
    NamedAspect,
    OwnedAspect,
    OwnershipTypeUrn,
    OwnerUrn,
    PropertyUrn,
    TagUrn,
    TermUrn,
    facet_values,
    property_facets,
)
from catalog.aspects.facet_fields import MAX_NAME_LENGTH, SUBTYPE
from catalog.urns import Urn
from policies.engine import selectors

#: URN prefix of the ownership types that every installation has.
SYSTEM_OWNERSHIP_TYPE_PREFIX = "urn:li:ownershipType:__system__"

_PROPERTY_URN_PREFIX = "urn:li:structuredProperty:"


class OwnerEntry(DocumentPart):
    """One owner; its origin (`source`, `attribution`) affects no decision."""

    is_closed = True
    owner: OwnerUrn
    type: str | None = None
    typeUrn: OwnershipTypeUrn | None = None  # noqa: N815 - DataHub's key
    source: Any = None
    attribution: Any = None

    @property
    def ownership_type(self) -> str:
        """The URN of the ownership type, '' when the entry has none.

        The older `type` is not converted: an entry without a type URN matches no clause on types (rules/datahub.md
        a.2). Guessing one from the older value would widen policies.
        """
        return str(self.typeUrn or "")


class Ownership(OwnedAspect):
    """The owners of the entity with their types; `ownerTypes` repeats `owners` and is not read."""

    is_closed = True
    owners: list[OwnerEntry]
    ownerTypes: Any = None  # noqa: N815 - DataHub's key
    lastModified: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        entries = [FacetValue(selectors.OWNER, entry.owner, entry.ownership_type) for entry in self.owners]
        return AspectFacts(tuple(dict.fromkeys(entries)))


class TagEntry(DocumentPart):
    """One tag."""

    tag: TagUrn


class GlobalTags(OwnedAspect):
    """Tags of the entity itself."""

    tags: list[TagEntry]

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(facet_values(selectors.TAG, (entry.tag for entry in self.tags)))


class TermEntry(DocumentPart):
    """One glossary term."""

    urn: TermUrn


class GlossaryTerms(OwnedAspect):
    """Glossary terms applied to the entity."""

    terms: list[TermEntry]

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(facet_values(selectors.GLOSSARY, (entry.urn for entry in self.terms)))


class DomainAssociation(DocumentPart):
    """One domain, in the newer list with more fields for each."""

    domain: DomainUrn


class Domains(OwnedAspect):
    """The domains of the entity; newer clients write associations beside or instead of the list."""

    domains: list[DomainUrn] = []
    domainAssociations: list[DomainAssociation] | None = None  # noqa: N815 - DataHub's key

    def facts(self, urn: Urn, /) -> AspectFacts:
        """Return the domains, without duplicates.

        For a data product the associations take precedence over the list (source 000, derived rules); for every other
        type the list takes precedence.
        """
        associated_domains = [entry.domain for entry in self.domainAssociations or ()]
        domains = (
            (associated_domains or self.domains) if urn.type == "dataProduct" else (self.domains or associated_domains)
        )
        return AspectFacts(facet_values(selectors.DOMAIN, domains))


class StatusAspect(OwnedAspect):
    """Soft deletion of the entity."""

    removed: bool = False

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(is_removed=self.removed)


class Deprecation(OwnedAspect):
    """Deprecation of the entity, with its reason."""

    deprecated: bool
    note: str | None = None
    decommissionTime: int | None = None  # noqa: N815 - DataHub's key
    actor: AnyUrn | None = None


class InstitutionalMemoryLink(DocumentPart):
    """A link to a page about the entity."""

    url: str
    description: str | None = None


class InstitutionalMemory(OwnedAspect):
    """Links to pages about the entity."""

    elements: list[InstitutionalMemoryLink]


class SubTypes(OwnedAspect):
    """Subtypes of the entity."""

    typeNames: list[str]  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the names in capitals, as sources write VIEW."""
        names = (name.strip().upper() for name in self.typeNames)
        return AspectFacts(facet_values(SUBTYPE, (name for name in names if 0 < len(name) <= MAX_NAME_LENGTH)))


class OwnershipTypeInfo(NamedAspect):
    """Name of an ownership type."""

    name: Name


class Registration(OwnedAspect):
    """The name given to an entity when our API registered it; an aspect of our own."""

    name: Name

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(name=self.name)


def column_tags(document: Any) -> set[tuple[str, str]]:
    """Return the (column, tag) pairs of a tag or schema document, with column '' for tags of the entity itself.

    The shape of the document must have been checked; a value that is not an object gives none.
    """
    if not isinstance(document, dict):
        return set()
    column_tag_pairs = {("", entry["tag"]) for entry in document.get("tags") or ()}
    for field in [*(document.get("fields") or ()), *(document.get("editableSchemaFieldInfo") or ())]:
        for entry in (field.get("globalTags") or {}).get("tags") or ():
            column_tag_pairs.add((field["fieldPath"], entry["tag"]))
    return column_tag_pairs


class PropertyAssignment(DocumentPart):
    """The values of one structured property; each is an object that names its type, `{"string": "gold"}`."""

    propertyUrn: PropertyUrn  # noqa: N815 - DataHub's key
    values: list[Any] = []


class StructuredProperties(OwnedAspect):
    """Properties defined by entities of their own, whose ids are the property names."""

    properties: list[PropertyAssignment]

    def facts(self, _urn: Urn, /) -> AspectFacts:
        values_by_property = {
            assignment.propertyUrn.removeprefix(_PROPERTY_URN_PREFIX): [
                scalar
                for value in assignment.values
                for scalar in (value.values() if isinstance(value, dict) else (value,))
            ]
            for assignment in self.properties
        }
        return AspectFacts(property_facets(values_by_property))
