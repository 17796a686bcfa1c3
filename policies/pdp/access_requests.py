"""The question that callers put to the authorizer, before its facts are loaded.

Named tuples, because creating frozen dataclasses takes several times as long, and there is one of each per question.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from policies.engine.requirements import Requirement

#: What most questions name beside their resource.
NO_RELATIVES: Mapping[str, tuple[str, ...]] = MappingProxyType({})


class ResourceRef(NamedTuple):
    """The resource of a question: a URN, or a type alone (`urn` empty). `type` empty: the type from catalog or URN.

    `project` is the object id of the project in which an entity of the type is to be created; the project of an
    existing entity comes from the catalog. `branch` empty is main. `columns` and `path` narrow the question to part of
    the resource. `fact_overrides` are (field, values) pairs that replace the stored facts for this question.
    """

    urn: str = ""
    type: str = ""
    project: str = ""
    branch: str = ""
    columns: tuple[str, ...] | None = None
    path: str | None = None
    fact_overrides: tuple[tuple[str, frozenset[str]], ...] = ()


class AccessRequest(NamedTuple):
    """One question before its facts are loaded.

    `relatives` are URNs that the question itself names (the domains of a product to be created); relatives that the
    requirement mentions and the question does not name come from the catalog. `operation` is the caller's name for the
    question, for the decision log. `has_actor_overrides`: the actor has other attributes in it than those stored.
    """

    requirement: Requirement
    resource: ResourceRef | None = None
    subresources: tuple[str, ...] = ()
    relatives: Mapping[str, tuple[str, ...]] = NO_RELATIVES
    operation: str = ""
    has_actor_overrides: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether actor, requirement, URN and type of the resource, and sub-resources are all of the question."""
        resource = self.resource
        return (
            not self.relatives
            and not self.has_actor_overrides
            and (resource is None or resource == ResourceRef(resource.urn, resource.type))
        )
