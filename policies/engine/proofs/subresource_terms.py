"""Terms about the sub-resources of a question, and constraints on them."""

from collections.abc import Iterable, Iterator

from policies.engine.model import Effect, Statement
from policies.engine.proofs.formula import Formula
from policies.engine.proofs.resource_terms import ResourceTerms
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

    def find_subresources(self, numbers: Iterator[int]) -> Iterator[Resource]:
        """Yield the sub-resources of the solution."""
        for terms in self._subresources:
            if not self._formula.holds(terms.is_given):
                continue
            if self._formula.holds(terms.stands_for_all):
                yield Resource(ANY_SUBRESOURCE, "", {})
                continue
            type_name = terms.find_type(numbers)
            urn = terms.find_urn(type_name, numbers)
            facets = dict.fromkeys(self._fields, frozenset[str]()) | terms.find_facets(urn, numbers, {})
            yield Resource(urn, type_name, facets, frozenset(Owner(owner, "") for owner in facets[OWNER]))
