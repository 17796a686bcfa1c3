"""Terms about conditions on the actor and the action: properties with certain values, or with values that two share."""

from collections.abc import Callable, Iterator, Mapping, MutableMapping

from policies.engine.proofs.formula import FALSE, Formula
from policies.engine.proofs.resource_terms import ResourceTerms
from policies.engine.proofs.texts import TextSet, TextTerms
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import Condition


class ConditionTerms:
    """The literals of actor conditions in a question about one resource.

    `find_attribute` returns the terms of an attribute of the actor or its action; without a value it is not known.
    """

    def __init__(self, formula: Formula, resource: ResourceTerms, find_attribute: Callable[[str], TextSet]) -> None:
        self._formula = formula
        self._resource = resource
        self._find_attribute = find_attribute
        self._shared_values: dict[tuple[str, str], int] = {}
        self._shared_beginnings: dict[tuple[str, str], int] = {}

    def meets(self, condition: ActorCondition, *, is_deny: bool) -> int:
        """Return the literal of a condition, which is false for an allow if a fact is not known, true for a deny."""
        formula = self._formula
        are_known = formula.define_all([self._find_attribute(name).has_value for name in condition.tested_attributes])
        terms = self._find_terms(condition.field)
        alternatives = [self._meets_reference(condition, name) for name in sorted(condition.references)]
        find = terms.prefix if condition.condition is Condition.STARTS_WITH else terms.value
        is_met = formula.define_any([*alternatives, *(find(text) for text in sorted(condition.values))])
        parts = [self._resource.is_given if condition.is_about_resource else terms.has_value]
        if condition.condition is Condition.NOT_EQUALS:
            parts += [-is_met, *(self._find_attribute(name).has_value for name in condition.references)]
        else:
            parts.append(is_met)
        outcome = formula.define_all(parts)
        return formula.define_any([-are_known, outcome]) if is_deny else outcome

    def share_texts(
        self,
        attributes: frozenset[tuple[str, str]],
        facets: MutableMapping[str, frozenset[str]],
        numbers: Iterator[int],
    ) -> frozenset[tuple[str, str]]:
        """Give two fields a text in common, or a text and a longer one, where the solution wants that.

        Returns the attributes of the actor; the facets of the resource are changed.
        """
        shared_attributes = set(attributes)

        def add(field: str, text: str) -> None:
            if field.startswith("PROPERTY."):
                facets[field] |= {text}
            else:
                shared_attributes.add((field, text))

        kinds: tuple[tuple[str, Mapping[tuple[str, str], int]], ...] = (
            ("", self._shared_values),
            ("+", self._shared_beginnings),
        )
        for ending, literals in kinds:
            for (field, reference), literal in literals.items():
                if self._formula.holds(literal):
                    text = self._find_terms(field).invent("", numbers, self._find_terms(reference))
                    add(field, text + ending)
                    add(reference, text)
        return frozenset(shared_attributes)

    def _find_terms(self, field: str) -> TextTerms:
        return self._resource.terms(field) if field.startswith("PROPERTY.") else self._find_attribute(field)

    def _meets_reference(self, condition: ActorCondition, reference: str) -> int:
        if condition.condition is Condition.STARTS_WITH:
            return self._find_shared_beginning(condition.field, reference)
        return self._find_shared_value(condition.field, reference)

    def _find_shared_value(self, field: str, reference: str) -> int:
        """Return the literal of a value that is in both fields. Two fields that have values may share one more."""
        literal = self._shared_values.get((field, reference))
        if literal is None:
            literal = self._shared_values[field, reference] = self._formula.create_literal()
            terms, other_terms = self._find_terms(field), self._find_terms(reference)
            self._formula.require(-literal, terms.has_value)
            self._formula.require(-literal, other_terms.has_value)
            for first_terms, second_terms in ((terms, other_terms), (other_terms, terms)):
                first_terms.observe(_SharedValueListener(self._formula, second_terms, literal, is_beginning=False))
        return literal

    def _find_shared_beginning(self, field: str, reference: str) -> int:
        """Return the literal of a value of one field that begins with a value of the other."""
        literal = self._shared_beginnings.get((field, reference))
        if literal is None:
            literal = self._shared_beginnings[field, reference] = self._formula.create_literal()
            terms, other_terms = self._find_terms(field), self._find_terms(reference)
            self._formula.require(-literal, terms.has_value)
            self._formula.require(-literal, other_terms.has_value)
            self._formula.require(-self._find_shared_value(field, reference), literal)
            other_terms.observe(_SharedValueListener(self._formula, terms, literal, is_beginning=True))
        return literal


class _SharedValueListener:
    """A listener: both fields have a value (or one begins with a value of the other), so the literal is true."""

    def __init__(self, formula: Formula, terms: TextTerms, literal: int, *, is_beginning: bool) -> None:
        self._formula = formula
        self._terms = terms
        self._literal = literal
        self._is_beginning = is_beginning

    def __call__(self, text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
        if is_prefix:
            return
        other_literal = self._terms.prefix(text) if self._is_beginning else self._terms.find_value(text)
        if other_literal != FALSE:
            self._formula.require(-literal, -other_literal, self._literal)
