"""Building blocks of aspect schemas: URN types, and the facts that a document yields.

Unknown fields are kept and ignored, since newer clients send them. Documents that give people access may arrive only
with the fields of DataHub's published schema: an unknown field could be one that limits the access (ADR 19).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

from catalog import urns
from catalog.urns import Urn
from policies.engine import property_conditions
from policies.models.fields import is_storable


class FacetValue(NamedTuple):
    """One value of one facet; `type` is the ownership type of an owner, else ''."""

    field: str
    value: str
    type: str = ""


@dataclass(frozen=True, slots=True)
class AspectFacts:
    """The facts of one document: facets, and columns of its entity (None where the document does not set one)."""

    facets: tuple[FacetValue, ...] = ()
    name: str | None = None
    parent: str | None = None
    is_removed: bool | None = None


NO_FACTS = AspectFacts()


class DocumentPart(BaseModel):
    """A validated document or part of one; types are not converted into one another.

    A closed one may arrive only with the fields of its schema; documents already stored may have others.
    """

    model_config = ConfigDict(extra="allow", strict=True)
    is_closed: ClassVar[bool] = False

    def unknown_fields(self) -> Iterator[tuple[str | int, ...]]:
        """Yield the path to each field of closed parts that no schema knows."""
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
        """Return the facts that the document gives about the entity with this URN."""
        return NO_FACTS


def _check_name(text: str) -> str:
    if not is_storable(text):
        raise PydanticCustomError("text", "The text holds NUL or half of a surrogate pair.")
    return text


Name = Annotated[str, AfterValidator(_check_name)]


class NamedAspect(OwnedAspect):
    """A document that names the entity."""

    name: Name | None = None
    description: str | None = None

    def facts(self, _urn: Urn, /) -> AspectFacts:
        return AspectFacts(name=self.name)


def urn_type(*types: str) -> Any:
    """Return the type of a field that holds a URN, of one of these entity types if any are given."""

    def check(text: str) -> str:
        problem = urns.find_problem(text, "", types)
        if problem is not None:
            raise PydanticCustomError("urn", "{detail}", {"detail": problem.detail})
        return text

    return Annotated[str, AfterValidator(check)]


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


def facet_values(field: str, texts: Iterable[str]) -> tuple[FacetValue, ...]:
    """Return a facet value for each distinct text, in order."""
    return tuple(FacetValue(field, value) for value in dict.fromkeys(texts))


def property_facets(values_by_property: Mapping[str, Any]) -> tuple[FacetValue, ...]:
    """Return a facet value for each value of each property, under the name of the property."""
    texts_by_field = property_conditions.to_facets(values_by_property, property_conditions.RESOURCE)
    return tuple(FacetValue(field, text) for field, texts in texts_by_field.items() for text in sorted(texts))
