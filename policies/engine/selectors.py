"""Tests on facts: criteria on facets, selectors of entities, and the tokens of actor clauses.

All tests are plain set operations. `snapshot` and `reach_index` compile the same objects into bit sets and bitmaps;
these methods define the meaning of both.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from policies.engine.errors import MissingFact

TYPE = "TYPE"
URN = "URN"
OWNER = "OWNER"
DOMAIN = "DOMAIN"
CONTAINER = "CONTAINER"
GLOSSARY = "GLOSSARY"
TAG = "TAG"
DATA_PLATFORM_INSTANCE = "DATA_PLATFORM_INSTANCE"
GROUP_MEMBERSHIP = "GROUP_MEMBERSHIP"
ID = "ID"
PROJECT = "PROJECT"

#: Facets of the question, not of the entity: whether it is about creating the entity, and on which branch.
CREATION = "CREATION"
BRANCH = "BRANCH"
YES, NO = "yes", "no"
MAIN_BRANCH = "main"

#: The value of each for every entity in a list, a count or a report: it exists, and its main branch is meant.
CONSTANT_FACETS = {CREATION: NO, BRANCH: MAIN_BRANCH}

#: Fields whose values include all ancestors before the engine sees them (rules/datahub.md a.4).
HIERARCHICAL_FIELDS = frozenset({DOMAIN, CONTAINER, GLOSSARY})

#: The field of which an entity of this type is itself a value. There it has only itself and its ancestors: other values
#: that its documents give for the field are no facts for policies (a.4).
OWN_FIELDS = {
    "container": CONTAINER,
    "dataPlatformInstance": DATA_PLATFORM_INSTANCE,
    "domain": DOMAIN,
    "glossaryNode": GLOSSARY,
    "glossaryTerm": GLOSSARY,
}

#: The sub-resource that stands for "some tag": it meets every constraint (rules/datahub.md a.5).
ANY_SUBRESOURCE = "urn:li:allEntities:all"


class Condition(StrEnum):
    """The comparison between the values of an entity and the values of a criterion."""

    EQUALS = "EQUALS"
    STARTS_WITH = "STARTS_WITH"
    NOT_EQUALS = "NOT_EQUALS"


#: Names of their own: reading a member of an enumeration costs as much as testing a criterion.
_EQUALS, _NOT_EQUALS = Condition.EQUALS, Condition.NOT_EQUALS


@dataclass(frozen=True, slots=True)
class Criterion:
    """One test on one facet."""

    field: str
    condition: Condition
    values: frozenset[str]

    def holds(self, values: frozenset[str]) -> bool:
        """Whether an entity with these values meets the criterion.

        EQUALS and STARTS_WITH need one value of the entity that one value of the criterion accepts; NOT_EQUALS needs
        that none of the criterion's values is present, so it holds for an entity, or a criterion, without values (a.4).
        """
        condition = self.condition
        if condition == _EQUALS:
            return not self.values.isdisjoint(values)
        if condition == _NOT_EQUALS:
            return self.values.isdisjoint(values)
        beginnings = tuple(self.values)
        return any(value.startswith(beginnings) for value in values)


#: A criterion that never holds: an unknown field or condition compiles to it (a.4, "anything else: false").
NEVER_CRITERION = Criterion(URN, Condition.EQUALS, frozenset())


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of an entity's ownership: the owner's URN and the ownership type ('' if the entry names none)."""

    actor: str
    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """A resource in a question: its URN, its type and its loaded facets.

    `urn` is empty if the question is about a type alone. `facets` holds every field that may be tested, hierarchical
    fields with their ancestors; an absent field was not loaded, which is an error and not an empty set.
    """

    urn: str
    type: str
    facets: Mapping[str, frozenset[str]]
    owners: frozenset[Owner] = frozenset()

    @property
    def is_any_subresource(self) -> bool:
        """Whether this stands for "some tag" (a.5)."""
        return self.urn == ANY_SUBRESOURCE

    def values(self, field: str) -> frozenset[str]:
        """Return the values of one facet.

        Raises MissingFact if the facet was not loaded.
        """
        if field == TYPE:
            return frozenset((self.type,)) if self.type else frozenset()
        if field == URN:
            return frozenset((self.urn,)) if self.urn else frozenset()
        try:
            return self.facets[field]
        except KeyError:
            raise MissingFact(field, self.urn) from None


@dataclass(frozen=True, slots=True)
class Selector:
    """Criteria that must all hold; the empty selector matches everything.

    With `needs_resource` a question without a resource is not covered: a metadata policy with a resource block, even an
    empty one (a.3). It is false for platform policies and for metadata policies without the block.
    """

    criteria: tuple[Criterion, ...] = ()
    needs_resource: bool = False

    def covers(self, resource: Resource | None) -> bool:
        """Whether the question's resource (None: a question without one) is covered."""
        if resource is None:
            return not self.needs_resource
        return all(criterion.holds(resource.values(criterion.field)) for criterion in self.criteria)

    @property
    def fields(self) -> frozenset[str]:
        """The facets that must be loaded before `covers` is called."""
        return frozenset(criterion.field for criterion in self.criteria) - {TYPE, URN}


EVERYTHING = Selector()

#: Tokens that are not URNs. A token is a value by which an actor clause can name actors: a URN or one of these.
EVERYONE = "*"
IN_ANY_GROUP = "*group"
ONESELF = "*self"
OWNER_OF_ANY_TYPE = "*owner"


@dataclass(frozen=True, slots=True)
class ActorMatch:
    """The actor clause of a statement: it applies to actors with any of the tokens and none of the excluded ones.

    Tokens are URNs of users, groups and roles, EVERYONE, IN_ANY_GROUP, ONESELF (the resource is the actor), and those
    of `owner_token` (the actor or one of its groups owns the resource). No tokens: nobody (rules/datahub.md a.2).
    `is_relational`: any of them is about the resource. It is found once, because lists ask it of a thousand clauses.
    """

    tokens: frozenset[str] = frozenset()
    excluded_tokens: frozenset[str] = frozenset()
    is_relational: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_relational", any(map(is_relational, self.tested_tokens)))

    @property
    def tested_tokens(self) -> frozenset[str]:
        """Every token, excluded ones too: actors who have the same ones of these are alike for the clause."""
        return self.tokens | self.excluded_tokens


def owner_token(owner_type: str | None) -> str:
    """Return the token of the owners of the resource: of any type (None), or of one ownership type."""
    return OWNER_OF_ANY_TYPE if owner_type is None else f"{OWNER_OF_ANY_TYPE}:{owner_type}"


def is_relational(token: str) -> bool:
    """Whether an actor has the token only in relation to a resource: by being it, or by owning it."""
    return token == ONESELF or token.startswith(OWNER_OF_ANY_TYPE)


def owner_type(token: str) -> str | None:
    """Return the ownership type of a token of owners; None: any type."""
    return None if token == OWNER_OF_ANY_TYPE else token.removeprefix(owner_token(""))


def resource_tokens(actor_urn: str, holders: frozenset[str], resource: Resource | None) -> frozenset[str]:
    """Return the tokens an actor has only for this resource: being it, and owning it itself or through a group.

    An ownership entry without a type counts only for clauses on any type (a.2).
    """
    if resource is None:
        return frozenset()
    tokens = {ONESELF} if resource.urn and resource.urn == actor_urn else set()
    for owner in resource.owners:
        if owner.actor in holders:
            tokens.add(OWNER_OF_ANY_TYPE)
            if owner.type:
                tokens.add(owner_token(owner.type))
    return frozenset(tokens)
