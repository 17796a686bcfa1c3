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
    Aspect,
    ContainerUrn,
    DomainUrn,
    FacetValue,
    Facts,
    Name,
    NodeUrn,
    PlatformUrn,
    values,
)
from catalog.urns import Urn
from policies.engine import selectors

#: Types whose parent is named by their own properties, not by the `container` aspect.
_PARENT_ELSEWHERE = frozenset({"domain", "glossaryNode", "glossaryTerm"})


class Container(Aspect):
    """The container the entity lies in."""

    container: ContainerUrn

    def facts(self, urn: Urn, /) -> Facts:
        """Return the container, which is also the parent of whatever has no other."""
        parent = None if urn.type in _PARENT_ELSEWHERE else self.container
        return Facts(values(selectors.CONTAINER, [self.container]), parent=parent)


class ContainerProperties(Aspect):
    """What a container is called."""

    name: Name
    description: str | None = None
    qualifiedName: str | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name."""
        return Facts(name=self.name)


class DomainProperties(Aspect):
    """What a domain is called, and the domain it lies in."""

    name: Name
    description: str | None = None
    parentDomain: DomainUrn | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name and the domain above."""
        return Facts(name=self.name, parent=self.parentDomain)


class GlossaryNodeInfo(Aspect):
    """What a term group is, and the group it lies in."""

    definition: str | None = None
    name: Name | None = None
    parentNode: NodeUrn | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name and the group above."""
        return Facts(name=self.name, parent=self.parentNode)


class GlossaryTermInfo(GlossaryNodeInfo):
    """What a term means, and the term group it lies in."""

    termSource: str | None = None  # noqa: N815 - DataHub's key


class GlossaryRelatedTerms(Aspect):
    """What a term is a kind of, what it has, its values and what else it is related to.

    It may not be refused for its shape, since documents of any shape are stored already: what is no URN is left out.
    """

    isRelatedTerms: Any = None  # noqa: N815 - DataHub's key
    hasRelatedTerms: Any = None  # noqa: N815 - DataHub's key
    values: Any = None
    relatedTerms: Any = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the terms of each of the four lists."""
        found = {
            TERM_IS: self.isRelatedTerms,
            TERM_HAS: self.hasRelatedTerms,
            TERM_VALUE: self.values,
            TERM_RELATED: self.relatedTerms,
        }
        return Facts(tuple(one for field, listed in found.items() for one in values(field, _list_terms(listed))))


class DataPlatformInstance(Aspect):
    """The platform of the entity and, where there are several, which of its installations."""

    platform: PlatformUrn
    instance: AnyUrn | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return platform and instance."""
        platform = (FacetValue(PLATFORM, self.platform),)
        instances = values(selectors.DATA_PLATFORM_INSTANCE, [self.instance] if self.instance else [])
        return Facts(platform + instances)


class DataPlatformInfo(Aspect):
    """What a data platform is called."""

    name: Name
    displayName: Name | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name people see."""
        return Facts(name=self.displayName or self.name)


class DataPlatformInstanceProperties(Aspect):
    """What an installation of a platform is called."""

    name: Name | None = None
    description: str | None = None

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name."""
        return Facts(name=self.name)


class TagProperties(Aspect):
    """What a tag is called."""

    name: Name
    description: str | None = None
    colorHex: str | None = None  # noqa: N815 - DataHub's key

    def facts(self, _urn: Urn, /) -> Facts:
        """Return the name."""
        return Facts(name=self.name)


def _list_terms(listed: Any) -> list[str]:
    named = listed if isinstance(listed, list) else []
    return [one for one in named if isinstance(one, str) and urns.problem(one, "", ("glossaryTerm",)) is None]
