"""Aspects that define hierarchies and name their nodes: domains, containers, glossary, platforms and instances."""

from typing import Any

from catalog import urns
from catalog.aspects.base import (
    AnyUrn,
    AspectFacts,
    ContainerUrn,
    DomainUrn,
    FacetValue,
    Name,
    NamedAspect,
    NodeUrn,
    OwnedAspect,
    PlatformUrn,
    facet_values,
)
from catalog.aspects.facet_fields import PLATFORM, TERM_HAS, TERM_IS, TERM_RELATED, TERM_VALUE
from catalog.urns import Urn
from policies.engine import selectors

#: Types whose parent is in their own properties, not in the `container` aspect.
_TYPES_WITH_OWN_PARENT = frozenset({"domain", "glossaryNode", "glossaryTerm"})


class Container(OwnedAspect):
    """The container of the entity."""

    container: ContainerUrn

    def facts(self, urn: Urn, /) -> AspectFacts:
        parent = None if urn.type in _TYPES_WITH_OWN_PARENT else self.container
        return AspectFacts(facet_values(selectors.CONTAINER, [self.container]), parent=parent)


class ContainerProperties(NamedAspect):
    """Name of a container."""

    name: Name
    qualifiedName: str | None = None  # noqa: N815 - DataHub's key


class DomainProperties(OwnedAspect):
    """Name and parent of a domain."""

    name: Name
    description: str | None = None
    parentDomain: DomainUrn | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(name=self.name, parent=self.parentDomain)


class GlossaryNodeInfo(OwnedAspect):
    """Definition and parent of a term group."""

    definition: str | None = None
    name: Name | None = None
    parentNode: NodeUrn | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(name=self.name, parent=self.parentNode)


class GlossaryTermInfo(GlossaryNodeInfo):
    """Definition and term group of a term."""

    termSource: str | None = None  # noqa: N815 - DataHub's key


class GlossaryRelatedTerms(OwnedAspect):
    """Terms that a term is a kind of, has, has as values or is otherwise related to.

    It may not be rejected for its shape, since documents of any shape are stored already; non-URN values are ignored.
    """

    isRelatedTerms: Any = None  # noqa: N815 - DataHub's key
    hasRelatedTerms: Any = None  # noqa: N815 - DataHub's key
    values: Any = None
    relatedTerms: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
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
    """The platform of the entity and, if there are several installations, the instance."""

    platform: PlatformUrn
    instance: AnyUrn | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        platform = (FacetValue(PLATFORM, self.platform),)
        instances = facet_values(selectors.DATA_PLATFORM_INSTANCE, [self.instance] if self.instance else [])
        return AspectFacts(platform + instances)


class DataPlatformInfo(OwnedAspect):
    """Name of a data platform."""

    name: Name
    displayName: Name | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(name=self.displayName or self.name)


class DataPlatformInstanceProperties(NamedAspect):
    """Name of an installation of a platform."""


class TagProperties(NamedAspect):
    """Name of a tag."""

    name: Name
    colorHex: str | None = None  # noqa: N815 - DataHub's key


def _list_terms(terms: Any) -> list[str]:
    entries = terms if isinstance(terms, list) else []
    return [
        entry for entry in entries if isinstance(entry, str) and urns.find_problem(entry, "", ("glossaryTerm",)) is None
    ]
