"""What every shape of an aspect is made of: references that are URNs, and the facts a document yields.

Unknown fields are kept and never looked at, since newer clients send them. Documents that give something to people may
arrive with the fields of DataHub's published schema only: another may be one that limits what is given (ADR 19).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from catalog import urns
from catalog.urns import Urn
from policies.engine import property_conditions, selectors
from policies.models.fields import is_storable

#: Fields of facets that policies do not test; they feed lists, search and the pages.
WORD = "WORD"
PLATFORM = "PLATFORM"
ID = "ID"
PROJECT = "PROJECT"
SUBJECT = "SUBJECT"
ASSET = "ASSET"
#: What an entity is made from, and what it makes, as its own documents say.
UPSTREAM = "UPSTREAM"
DOWNSTREAM = "DOWNSTREAM"
LOGICAL_PARENT = "LOGICAL_PARENT"
#: What a glossary term says of other terms.
TERM_IS = "TERM_IS"
TERM_HAS = "TERM_HAS"
TERM_VALUE = "TERM_VALUE"
TERM_RELATED = "TERM_RELATED"
ACCESS_ROLE = "ACCESS_ROLE"
ROLE_USER = "ROLE_USER"
ROLE_GROUP = "ROLE_GROUP"
ROLE_TYPE = "ROLE_TYPE"
#: Everything that a CDAP entity lies in, from its parent up to the instance.
WITHIN = "WITHIN"
#: The artifact or application that a spelling with a version is about (rules/cdap.md CD-20).
VERSION_OF = "VERSION_OF"

#: Where stands what a domain, term, term group or platform instance says of its own field beside being a value of it,
#: such as a domain with the aspect `domains`. Policies do not test it; relationships and deletions name it.
UNTESTED_FIELDS = {
    selectors.DATA_PLATFORM_INSTANCE: "NODE_INSTANCE",
    selectors.DOMAIN: "NODE_DOMAIN",
    selectors.GLOSSARY: "NODE_GLOSSARY",
}

#: Longest name that is projected, in characters; a longer one is cut, its aspect keeps it whole.
MAX_NAME_LENGTH = 255


class FacetValue(NamedTuple):
    """One value of one facet; `type` is the ownership type of an owner, else ''."""

    field: str
    value: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class AspectFacts:
    """What one document says: facets, and the columns of its entity (None where it says nothing about one)."""

    facets: tuple[FacetValue, ...] = ()
    name: str | None = None
    parent: str | None = None
    is_removed: bool | None = None


NO_FACTS = AspectFacts()


class DocumentPart(BaseModel):
    """A document, or a part of one, that is checked; types are not converted into one another.

    A closed one may arrive with its own fields only. What is stored already may have others.
    """

    model_config = ConfigDict(extra="allow", strict=True)
    is_closed: ClassVar[bool] = False

    def unknown_fields(self) -> Iterator[tuple[str | int, ...]]:
        """Yield the path to each field that nobody evaluates of what is closed."""
        if self.is_closed:
            yield from ((name,) for name in self.model_extra or ())
        for name in type(self).model_fields:
            value = getattr(self, name)
            for index, part in enumerate(value if isinstance(value, list) else ()):
                if isinstance(part, DocumentPart):
                    yield from ((name, index, *rest) for rest in part.unknown_fields())


class OwnedAspect(DocumentPart):
    """A whole document."""

    def facts(self, _urn: Urn, /) -> AspectFacts:
        """Return what the document says about the entity with this URN."""
        return NO_FACTS


def urn_type(*types: str) -> Any:
    """Return the type of a field that holds a URN, of one of these entity types when any are named."""

    def check(text: str) -> str:
        problem = urns.find_problem(text, "", types)
        if problem is not None:
            raise PydanticCustomError("urn", "{detail}", {"detail": problem.detail})
        return text

    return Annotated[str, AfterValidator(check)]


def _check_name(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("text", "The text holds NUL or half of a surrogate pair.")
    return text


AnyUrn = urn_type()
DomainUrn = urn_type("domain")
ContainerUrn = urn_type("container")
TagUrn = urn_type("tag")
TermUrn = urn_type("glossaryTerm")
NodeUrn = urn_type("glossaryNode")
OwnerUrn = urn_type("corpuser", "corpGroup")
OwnershipTypeUrn = urn_type("ownershipType")
PropertyUrn = urn_type("structuredProperty")
RoleUrn = urn_type("role")
UserUrn = urn_type("corpuser")
GroupUrn = urn_type("corpGroup")
PlatformUrn = urn_type("dataPlatform")
Name = Annotated[str, AfterValidator(_check_name)]


def facet_values(field: str, texts: Iterable[str]) -> tuple[FacetValue, ...]:
    """Return a facet value for each text, each once, in order."""
    return tuple(FacetValue(field, value) for value in dict.fromkeys(texts))


def property_facets(values_by_property: Mapping[str, Any]) -> tuple[FacetValue, ...]:
    """Return a facet value for each value of each property, by the names of these."""
    texts_by_field = property_conditions.to_facets(values_by_property, property_conditions.RESOURCE)
    return tuple(FacetValue(field, text) for field, texts in texts_by_field.items() for text in sorted(texts))
