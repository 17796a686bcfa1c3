"""Terms about one resource of a question: whether there is one, its type, its URN and its facets.

The terms leave open everything that the catalog could hold: an entity has any domains, tags, owners and properties; a
container, domain, term, term group or instance has itself and any ancestors in its own field (rules/datahub.md a.4);
a type alone has nothing but the properties that the question says. So the solver finds no facts that no catalog has.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from policies.engine.families import datazone_resource_patterns as datazone
from policies.engine.proofs.formula import FALSE, Formula
from policies.engine.proofs.texts import SingleText, TextForm, TextSet, TextTerms, is_invented
from policies.engine.selectors import (
    ANY_SUBRESOURCE,
    BRANCH,
    CONTAINER,
    CREATION,
    DATA_PLATFORM_INSTANCE,
    DOMAIN,
    GLOSSARY,
    GROUP_MEMBERSHIP,
    ID,
    MAIN_BRANCH,
    NO,
    OWN_FIELDS,
    OWNER,
    PROJECT,
    TAG,
    TYPE,
    URN,
    YES,
    Condition,
    Criterion,
    Selector,
)

URN_BEGINNING, USER, GROUP = "urn:li:", "urn:li:corpuser:", "urn:li:corpGroup:"

#: A key of a dataset is of three parts.
_DATASET_BEGINNING = "urn:li:dataset:"

_TYPE_NAME = "[A-Za-z][A-Za-z0-9_]{0,63}"
_TYPE_FORM = TextForm(re.compile(_TYPE_NAME), re.compile(f"({_TYPE_NAME})?"))
_URN_FORM = TextForm(
    re.compile(f"urn:li:{_TYPE_NAME}:.+", re.DOTALL), re.compile(f"urn:li:({_TYPE_NAME}(:.*)?)?", re.DOTALL)
)

#: The beginnings of the values of the fields that hold URNs of certain types, as the aspects check them.
_VALUE_BEGINNINGS = {
    CONTAINER: ("urn:li:container:",),
    DOMAIN: ("urn:li:domain:",),
    GLOSSARY: ("urn:li:glossaryTerm:", "urn:li:glossaryNode:"),
    GROUP_MEMBERSHIP: (GROUP,),
    OWNER: (USER, GROUP),
    TAG: ("urn:li:tag:",),
}
#: The types of ancestors in a field of which an entity is itself a value.
_ANCESTOR_BEGINNINGS = {
    CONTAINER: ("urn:li:container:",),
    DATA_PLATFORM_INSTANCE: (),
    DOMAIN: ("urn:li:domain:",),
    GLOSSARY: ("urn:li:glossaryNode:",),
}
#: Types by which a question may name an entity, beside the type in its URN.
_OTHER_TYPES = {
    urn_type: kind for kind in datazone.list_types() for urn_type in datazone.entity_types(kind) if urn_type != kind
}


class ResourceTerms:
    """The literals of a resource. `is_given`: there is one; `has_urn`: it is an entity and not a type alone."""

    def __init__(self, formula: Formula, *, is_given: int, is_subresource: bool = False) -> None:
        self._formula = formula
        self._is_subresource = is_subresource
        self.is_given = is_given
        self.has_urn = is_given if is_subresource else formula.create_literal()
        formula.require(-self.has_urn, is_given)
        #: The literal of an entity that may have facts of its own: an unbalanced URN can be asked about, not stored.
        self.is_storable = formula.create_literal()
        formula.require(-self.is_storable, self.has_urn)
        self.type = SingleText(formula, is_given, form=_TYPE_FORM)
        self.urn = SingleText(formula, self.has_urn, (URN_BEGINNING,), _URN_FORM)
        self.facets: dict[str, TextTerms] = {}
        self._conditions: dict[Criterion, int] = {}
        self._has_other_type = FALSE if is_subresource else self._define_other_type()
        self.type.observe(self._link_type)
        self.urn.observe(self._link_urn)

    def covers(self, selector: Selector) -> int:
        """Return the literal of a selector that covers the resource, or a question without one."""
        literals = [self.holds(criterion) for criterion in selector.criteria]
        if selector.needs_resource:
            return self._formula.define_all([self.is_given, *literals])
        return self._formula.define_any([-self.is_given, self._formula.define_all(literals)])

    def holds(self, criterion: Criterion) -> int:
        """Return the literal of a criterion that holds for a resource that is given."""
        literal = self._conditions.get(criterion)
        if literal is None:
            terms = self.terms(criterion.field)
            find = terms.prefix if criterion.condition is Condition.STARTS_WITH else terms.value
            literal = self._formula.define_any([find(text) for text in sorted(criterion.values)])
            literal = -literal if criterion.condition is Condition.NOT_EQUALS else literal
            self._conditions[criterion] = literal
        return literal

    def terms(self, field: str) -> TextTerms:
        """Return the terms of a field."""
        if field in (TYPE, URN):
            return self.type if field == TYPE else self.urn
        terms = self.facets.get(field)
        if terms is None:
            terms = self.facets[field] = self._create_facet(field)
            self._limit_facet(field, terms)
        return terms

    def _create_facet(self, field: str) -> TextTerms:
        if field == BRANCH:
            return SingleText(self._formula, self.is_given)
        if field == CREATION:
            return self._create_creation()
        if field in (DATA_PLATFORM_INSTANCE, ID, PROJECT):
            has_value = self._formula.create_literal()
            beginnings = (URN_BEGINNING,) if field == DATA_PLATFORM_INSTANCE else ()
            return SingleText(self._formula, has_value, beginnings)
        return TextSet(self._formula, _VALUE_BEGINNINGS.get(field, ()))

    def _create_creation(self) -> TextTerms:
        creation = SingleText(self._formula, self.is_given)
        self._formula.require(-self.is_given, creation.value(YES), creation.value(NO))
        self._formula.require(-creation.value(YES), -self.has_urn)
        self._formula.require(-creation.value(NO), self.has_urn)
        return creation

    def _limit_facet(self, field: str, terms: TextTerms) -> None:
        """Require what an entity must be like to have values in a field, and what it has as a value of itself."""
        if field in (BRANCH, CREATION):
            return
        if field.startswith("PROPERTY.") or field == PROJECT:
            self._formula.require(-terms.has_value, self.is_given)
            return
        own_types = [self.urn.prefix(_build_type_beginning(name)) for name, own in OWN_FIELDS.items() if own == field]
        self._formula.require(-terms.has_value, self.has_urn if field == ID else self.is_storable, *own_types)
        for own_type in own_types:
            self._formula.require(-own_type, terms.has_value)
        if own_types:
            terms.observe(self._link_own_field(field, own_types))
        if field == GLOSSARY:
            # Term groups are values only as ancestors of a term.
            self._formula.require(-terms.has_value, terms.prefix("urn:li:glossaryTerm:"), *own_types)
        if field == GROUP_MEMBERSHIP:
            self._formula.require(-terms.has_value, self.urn.prefix(USER))

    def _link_own_field(self, field: str, own_types: list[int]) -> Callable[[str, int, bool], None]:
        """Return the listener that keeps the own field of nodes and instances to themselves and their ancestors."""
        own_beginnings = tuple(_build_type_beginning(name) for name, own in OWN_FIELDS.items() if own == field)
        ancestor_beginnings = _ANCESTOR_BEGINNINGS[field]

        def link(text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
            is_own = text.startswith(own_beginnings) or (
                is_prefix and any(beginning.startswith(text) for beginning in own_beginnings)
            )
            urn_literal = self._find_urn_literal(text, is_prefix=is_prefix) if is_own else FALSE
            may_be_ancestor = text.startswith(ancestor_beginnings) or (
                is_prefix and any(beginning.startswith(text) for beginning in ancestor_beginnings)
            )
            for own_type in own_types:
                self._formula.require(-own_type, -urn_literal, literal)
                if not may_be_ancestor:
                    self._formula.require(-own_type, -literal, urn_literal)

        return link

    def _find_urn_literal(self, text: str, *, is_prefix: bool) -> int:
        return self.urn.prefix(text) if is_prefix else self.urn.value(text)

    # -- the type in a URN ----------------------------------------------------------------------------------------

    def _define_other_type(self) -> int:
        """Return the literal of an entity that is named by another type than that of its URN."""
        pairs = [
            self._formula.define_all([self.urn.prefix(_build_type_beginning(urn_type)), self.type.value(kind)])
            for urn_type, kind in sorted(_OTHER_TYPES.items())
        ]
        return self._formula.define_any(pairs)

    def _link_type(self, text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
        beginning = f"{URN_BEGINNING}{text}" if is_prefix else _build_type_beginning(text)
        self._equate(literal, self.urn.prefix(beginning))

    def _link_urn(self, text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
        type_name, colon, _ = text.removeprefix(URN_BEGINNING).partition(":")
        beginning = f"{URN_BEGINNING}{type_name}{colon}"
        if beginning == text:
            self._equate(self.type.value(type_name) if colon else self.type.prefix(type_name), literal)
        elif len(text) > len(beginning):
            self.urn.prefix(beginning)
        if is_prefix and colon and is_complete(text):
            self._formula.require(-literal, self.urn.value(text), -self.is_storable)
        if self._is_subresource and text == ANY_SUBRESOURCE and not is_prefix:
            self._formula.require(-literal)

    def _equate(self, type_literal: int, urn_literal: int) -> None:
        """Require that an entity has the type that its URN says, unless the question names another one."""
        others = (-self.has_urn, self._has_other_type)
        self._formula.require(-type_literal, urn_literal, *others)
        self._formula.require(-urn_literal, type_literal, *others)

    # -- the solution ---------------------------------------------------------------------------------------------

    def find_type(self, numbers: Iterator[int]) -> str:
        """Return the type in the solution."""
        return self.type.find_text("", numbers)

    def find_urn(self, type_name: str, numbers: Iterator[int]) -> str:
        """Return the URN in the solution, '' for a type alone. An invented one has the type, or what the URN says."""
        other_type = {kind: urn_type for urn_type, kind in _OTHER_TYPES.items()}.get(type_name, "")
        has_other_type = self._has_other_type != FALSE and self._formula.holds(self._has_other_type)
        text = self.urn.find_text(_build_type_beginning(other_type if has_other_type else type_name), numbers)
        name = text.removeprefix(_DATASET_BEGINNING)
        dataset = f"{_DATASET_BEGINNING}(urn:li:dataPlatform:example,{name},PROD)"
        is_plain = text.startswith(_DATASET_BEGINNING) and is_invented(name) and self.urn.is_free(dataset)
        return dataset if is_plain else text

    def find_facets(
        self, urn: str, numbers: Iterator[int], known_facets: Mapping[str, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Return the facets in the solution, with those that follow from the URN and those that are known already."""
        own_field = OWN_FIELDS.get(urn.split(":")[2]) if urn else None
        facets = {CREATION: frozenset((NO if urn else YES,)), BRANCH: frozenset((MAIN_BRANCH,)), **known_facets}
        facets |= {own_field: frozenset((urn,))} if own_field else {}
        for field, terms in self.facets.items():
            known_texts = facets.get(field, frozenset())
            if isinstance(terms, TextSet):
                facets[field] = terms.find_texts(known_texts, numbers)
            elif isinstance(terms, SingleText) and field != own_field:
                text = terms.find_text(_FIRST_BEGINNINGS.get(field, ""), numbers)
                facets[field] = frozenset((text,)) if text else frozenset()
        return facets


#: How an invented value of a field with one value begins.
_FIRST_BEGINNINGS = {DATA_PLATFORM_INSTANCE: "urn:li:dataPlatformInstance:"}


def is_complete(text: str) -> bool:
    """Whether a URN's key is in brackets that are closed, so that no longer text is a URN."""
    key = text.split(":", 3)[3]
    if not key.startswith("("):
        return False
    depths = [0]
    for character in key:
        depths.append(depths[-1] + (character == "(") - (character == ")"))
    return any(before == 1 and after == 0 for before, after in pairwise(depths))


def _build_type_beginning(type_name: str) -> str:
    return f"{URN_BEGINNING}{type_name}:"
