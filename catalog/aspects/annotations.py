"""Aspects that may stand on any entity: owners, tags, terms, domains, status and notes."""

from typing import Any

from catalog.aspects.base import (
    AnyUrn,
    Aspect,
    DomainUrn,
    FacetValue,
    Facts,
    Name,
    OwnershipTypeUrn,
    OwnerUrn,
    PropertyUrn,
    Shape,
    TagUrn,
    TermUrn,
    described,
    values,
)
from catalog.urns import Urn
from policies.engine import selectors

#: How the URNs of the ownership types begin that every installation has.
SYSTEM_OWNERSHIP = "urn:li:ownershipType:__system__"

_PROPERTY = "urn:li:structuredProperty:"


class OwnerEntry(Shape):
    """One owner; where the word comes from (`source`, `attribution`) decides nothing."""

    is_closed = True
    owner: OwnerUrn
    type: str | None = None
    typeUrn: OwnershipTypeUrn | None = None  # noqa: N815 - DataHub's key
    source: Any = None
    attribution: Any = None

    @property
    def ownership_type(self) -> str:
        """The URN of the ownership type, '' when the entry names none.

        The older `type` stays what it was: an entry without a type URN matches no clause on types (rules/datahub.md
        a.2). Guessing one from the older word would widen policies.
        """
        return str(self.typeUrn or "")


class Ownership(Aspect):
    """Who owns the entity, and as what; `ownerTypes` repeats `owners` and is not read."""

    is_closed = True
    owners: list[OwnerEntry]
    ownerTypes: Any = None  # noqa: N815 - DataHub's key
    lastModified: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the owners with their types."""
        entries = [FacetValue(selectors.OWNER, entry.owner, entry.ownership_type) for entry in self.owners]
        return Facts(tuple(dict.fromkeys(entries)))


class TagEntry(Shape):
    """One tag."""

    tag: TagUrn


class GlobalTags(Aspect):
    """Tags of the entity itself."""

    tags: list[TagEntry]

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the tags."""
        return Facts(values(selectors.TAG, (entry.tag for entry in self.tags)))


class TermEntry(Shape):
    """One glossary term."""

    urn: TermUrn


class GlossaryTerms(Aspect):
    """Glossary terms applied to the entity."""

    terms: list[TermEntry]

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the terms."""
        return Facts(values(selectors.GLOSSARY, (entry.urn for entry in self.terms)))


class DomainAssociation(Shape):
    """One domain, in the newer list that can say more about each."""

    domain: DomainUrn


class Domains(Aspect):
    """The domains the entity is in; newer clients write associations beside or instead of the list."""

    domains: list[DomainUrn] = []
    domainAssociations: list[DomainAssociation] | None = None  # noqa: N815 - DataHub's key

    def facts(self, urn: Urn, /) -> Facts:
        """Return the domains, each once.

        For a data product the associations come first and the list counts only without them (source 000, derived
        rules); for everything else the list comes first.
        """
        associated = [entry.domain for entry in self.domainAssociations or ()]
        found = (associated or self.domains) if urn.type == "dataProduct" else (self.domains or associated)
        return Facts(values(selectors.DOMAIN, found))


class Status(Aspect):
    """Whether the entity was deleted softly."""

    removed: bool = False

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the state."""
        return Facts(is_removed=self.removed)


class Deprecation(Aspect):
    """Whether the entity should no longer be used, and why."""

    deprecated: bool
    note: str | None = None
    decommissionTime: int | None = None  # noqa: N815 - DataHub's key
    actor: AnyUrn | None = None


class Link(Shape):
    """A link to a page about the entity."""

    url: str
    description: str | None = None


class InstitutionalMemory(Aspect):
    """Links to pages about the entity."""

    elements: list[Link]


class SubTypes(Aspect):
    """What kinds of its type the entity is."""

    typeNames: list[str]  # noqa: N815 - DataHub's key


class OwnershipTypeInfo(Aspect):
    """What a type of ownership is called."""

    name: Name
    description: str | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name."""
        return Facts(name=self.name)


class Registration(Aspect):
    """An aspect of our own: what an entity was called when it was registered by our API."""

    name: Name

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name."""
        return Facts(name=self.name)


def tags_of(document: Any) -> set[tuple[str, str]]:
    """Return the (column, tag) pairs of a tag or schema document, the column '' for tags of the entity itself.

    Anything that is not shaped like one yields nothing; shapes are checked before.
    """
    if not isinstance(document, dict):
        return set()
    found = {("", entry["tag"]) for entry in document.get("tags") or ()}
    for field in [*(document.get("fields") or ()), *(document.get("editableSchemaFieldInfo") or ())]:
        for entry in (field.get("globalTags") or {}).get("tags") or ():
            found.add((field["fieldPath"], entry["tag"]))
    return found


class Assignment(Shape):
    """The values of one structured property; each stands in an object that says its type, `{"string": "gold"}`."""

    propertyUrn: PropertyUrn  # noqa: N815 - DataHub's key
    values: list[Any] = []


class StructuredProperties(Aspect):
    """Properties whose kinds are entities themselves; they are called by the ids of these."""

    properties: list[Assignment]

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the properties."""
        said = {
            one.propertyUrn.removeprefix(_PROPERTY): [
                found for value in one.values for found in (value.values() if isinstance(value, dict) else (value,))
            ]
            for one in self.properties
        }
        return Facts(described(said))
