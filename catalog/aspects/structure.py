"""Aspects that put entities under one another and name what holds them: domains, containers, glossary, instances."""

from typing import Any

from catalog import urns
from catalog.aspects.base import (
    PLATFORM,
    TERM_HAS,
    TERM_IS,
    TERM_RELATED,
    TERM_VALUE,
    AnyUrn,
    AspectFacts,
    ContainerUrn,
    DomainUrn,
    FacetValue,
    Name,
    NodeUrn,
    OwnedAspect,
    PlatformUrn,
    facet_values,
)
from catalog.urns import Urn
from policies.engine import selectors

#: Types whose parent is named by their own properties, not by the `container` aspect.
_TYPES_WITH_OWN_PARENT = frozenset({"domain", "glossaryNode", "glossaryTerm"})


class Container(OwnedAspect):
    """The container the entity lies in."""

    container: ContainerUrn

    def facts(self, urn: Urn, /) -> AspectFacts:
        """Return the container, which is also the parent of whatever has no other."""
        parent = None if urn.type in _TYPES_WITH_OWN_PARENT else self.container
        return AspectFacts(facet_values(selectors.CONTAINER, [self.container]), parent=parent)


class ContainerProperties(OwnedAspect):
    """What a container is called."""

    name: Name
    description: str | None = None
    qualifiedName: str | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name."""
        return AspectFacts(name=self.name)


class DomainProperties(OwnedAspect):
    """What a domain is called, and the domain it lies in."""

    name: Name
    description: str | None = None
    parentDomain: DomainUrn | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name and the domain above."""
        return AspectFacts(name=self.name, parent=self.parentDomain)


class GlossaryNodeInfo(OwnedAspect):
    """What a term group is, and the group it lies in."""

    definition: str | None = None
    name: Name | None = None
    parentNode: NodeUrn | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name and the group above."""
        return AspectFacts(name=self.name, parent=self.parentNode)


class GlossaryTermInfo(GlossaryNodeInfo):
    """What a term means, and the term group it lies in."""

    termSource: str | None = None  # noqa: N815 - DataHub's key


class GlossaryRelatedTerms(OwnedAspect):
    """What a term is a kind of, what it has, its values and what else it is related to.

    It may not be refused for its shape, since documents of any shape are stored already: what is no URN is left out.
    """

    isRelatedTerms: Any = None  # noqa: N815 - DataHub's key
    hasRelatedTerms: Any = None  # noqa: N815 - DataHub's key
    values: Any = None
    relatedTerms: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the terms of each of the four lists."""
        terms_by_field = {
            TERM_IS: self.isRelatedTerms,
            TERM_HAS: self.hasRelatedTerms,
            TERM_VALUE: self.values,
            TERM_RELATED: self.relatedTerms,
        }
        return AspectFacts(
            tuple(facet for field, terms in terms_by_field.items() for facet in facet_values(field, _list_terms(terms)))
        )


class DataPlatformInstance(OwnedAspect):
    """The platform of the entity and, where there are several, which of its installations."""

    platform: PlatformUrn
    instance: AnyUrn | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return platform and instance."""
        platform = (FacetValue(PLATFORM, self.platform),)
        instances = facet_values(selectors.DATA_PLATFORM_INSTANCE, [self.instance] if self.instance else [])
        return AspectFacts(platform + instances)


class DataPlatformInfo(OwnedAspect):
    """What a data platform is called."""

    name: Name
    displayName: Name | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name people see."""
        return AspectFacts(name=self.displayName or self.name)


class DataPlatformInstanceProperties(OwnedAspect):
    """What an installation of a platform is called."""

    name: Name | None = None
    description: str | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name."""
        return AspectFacts(name=self.name)


class TagProperties(OwnedAspect):
    """What a tag is called."""

    name: Name
    description: str | None = None
    colorHex: str | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return the name."""
        return AspectFacts(name=self.name)


def _list_terms(terms: Any) -> list[str]:
    entries = terms if isinstance(terms, list) else []
    return [
        entry for entry in entries if isinstance(entry, str) and urns.find_problem(entry, "", ("glossaryTerm",)) is None
    ]
