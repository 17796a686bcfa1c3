"""Terms about the sub-resources of a question, and constraints on them."""

from collections.abc import Iterable, Iterator

from policies.engine.model import Effect, Statement
from policies.engine.proofs.formula import Formula
from policies.engine.proofs.resource_terms import ResourceTerms
from policies.engine.proofs.texts import Listener, TextTerms
from policies.engine.selectors import ANY_SUBRESOURCE, OWNER, Owner, Resource, Selector

#: The type of a sub-resource in an example, where nothing says another.
_TAG = "tag"


class SubresourceTerms(ResourceTerms):
    """The literals of a sub-resource that a question may have; it may be the one that stands for all."""

    def __init__(self, formula: Formula) -> None:
        super().__init__(formula, is_given=formula.create_literal(), is_subresource=True)
        self.stands_for_all = formula.create_literal()

    def meets(self, selector: Selector) -> int:
        """Return the literal of a constraint that the sub-resource passes."""
        return self._formula.define_any([self.stands_for_all, self.covers(selector)])


class TouchedTerms:
    """The literals of so many sub-resources that a question may have. `fields` are those that each of them has."""

    def __init__(self, formula: Formula, number: int, fields: Iterable[str]) -> None:
        self._formula = formula
        self._fields = frozenset(fields)
        self._subresources = [SubresourceTerms(formula) for _ in range(number)]
        #: Pairs of places, the URN that both have, and fields of which it is said that they are the same then.
        self._equated: set[tuple[ResourceTerms, ResourceTerms, str, str]] = set()

    def meets(self, statement: Statement) -> Iterator[int]:
        """Yield the literal of a statement's constraint that the sub-resources meet, if it has one."""
        selector = statement.subresources
        if selector is None:
            return
        pairs = [(terms.is_given, terms.meets(selector)) for terms in self._subresources]
        if statement.effect is Effect.DENY:
            yield self._formula.define_any([self._formula.define_all(pair) for pair in pairs])
        else:
            yield self._formula.define_all(
                [self._formula.define_any([-is_given, passes]) for is_given, passes in pairs]
            )

    def list_wishes(self) -> list[int]:
        """Return the literals of sub-resources that are tags, as far as there are any."""
        return [
            self._formula.define_any(
                [-terms.is_given, self._formula.define_all([-terms.stands_for_all, terms.type.value(_TAG)])]
            )
            for terms in self._subresources
        ]

    def find_subresources(
        self, resource_terms: ResourceTerms, resource: Resource | None, numbers: Iterator[int]
    ) -> tuple[Resource, ...] | None:
        """Return the sub-resources of the solution; one that is the resource that is asked about is that one.

        None if one of them is the resource, or another one, and carries something else: this is excluded from then on.
        """
        entities = {} if resource is None or not resource.urn else {resource.urn: (resource_terms, resource)}
        subresources = []
        for terms in self._subresources:
            if not self._formula.holds(terms.is_given):
                continue
            if self._formula.holds(terms.stands_for_all):
                subresources.append(Resource(ANY_SUBRESOURCE, "", {}))
                continue
            subresource = self._build_subresource(terms, numbers)
            twin_terms, twin = entities.setdefault(subresource.urn, (terms, subresource))
            if twin_terms is not terms and self._equate(terms, twin_terms, twin.urn):
                return None
            is_twin = twin_terms is not terms and self._formula.holds(twin_terms.urn.value(twin.urn))
            subresources.append(twin if is_twin else subresource)
        return tuple(subresources)

    def _build_subresource(self, terms: ResourceTerms, numbers: Iterator[int]) -> Resource:
        type_name = terms.find_type(numbers)
        urn = terms.find_urn(type_name, numbers)
        facets = dict.fromkeys(self._fields, frozenset[str]()) | terms.find_facets(urn, numbers, {})
        return Resource(urn, type_name, facets, frozenset(Owner(owner, "") for owner in facets[OWNER]))

    def _equate(self, terms: ResourceTerms, twin: ResourceTerms, urn: str) -> bool:
        """Require that an entity carries the same in both places, if that has not been done; return whether so."""
        fields = sorted(terms.facets.keys() | twin.facets.keys())
        new_fields = [field for field in fields if (terms, twin, urn, field) not in self._equated]
        are_one = self._formula.define_all([terms.urn.value(urn), twin.urn.value(urn)])
        for field in new_fields:
            self._equated.add((terms, twin, urn, field))
            field_terms, twin_terms = terms.terms(field), twin.terms(field)
            field_terms.observe(self._build_link(twin_terms, are_one))
            twin_terms.observe(self._build_link(field_terms, are_one))
        return bool(new_fields)

    def _build_link(self, other: TextTerms, are_one: int) -> Listener:
        """Return the listener that keeps a text of one place as it is in the other place."""

        def link(text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
            other_literal = other.prefix(text) if is_prefix else other.value(text)
            self._formula.require(-are_one, -literal, other_literal)
            self._formula.require(-are_one, literal, -other_literal)

        return link
