"""Terms about a whole question, statements as terms, and the question that a solution stands for."""

from collections.abc import Iterable, Iterator
from itertools import count

from policies.engine.evaluate import matches
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Effect, Question, Statement
from policies.engine.proofs.actor_terms import ActorTerms
from policies.engine.proofs.formula import FALSE, TRUE, Formula
from policies.engine.proofs.people import People
from policies.engine.proofs.resource_terms import ResourceTerms
from policies.engine.proofs.texts import SingleText, TextTerms
from policies.engine.proofs.verdicts import ProofContradiction
from policies.engine.property_conditions import ActorCondition
from policies.engine.selectors import (
    ANY_SUBRESOURCE,
    GROUP_MEMBERSHIP,
    OWN_FIELDS,
    OWNER,
    Condition,
    Owner,
    Resource,
    Selector,
)

#: The types of an entity and of a sub-resource in an example, where nothing says another.
_USUAL_TYPE, _TAG = "dataset", "tag"


class SubresourceTerms(ResourceTerms):
    """The literals of a sub-resource that a question may have; it may be the one that stands for all."""

    def __init__(self, formula: Formula) -> None:
        super().__init__(formula, is_given=formula.create_literal(), is_subresource=True)
        self.stands_for_all = formula.create_literal()

    def meets(self, selector: Selector) -> int:
        """Return the literal of a constraint that the sub-resource passes."""
        return self._formula.define_any([self.stands_for_all, self.covers(selector)])


class WorldTerms:
    """The literals of a question about one of some privileges, with a number of possible sub-resources.

    `fields` are those that a resource has even if no translated statement tests them.
    """

    def __init__(
        self,
        formula: Formula,
        privileges: Iterable[str],
        fields: Iterable[str] = (),
        number_of_subresources: int = 0,
        people: People | None = None,
    ) -> None:
        self.formula = formula
        self._fields = frozenset(fields) | {OWNER}
        self.resource = ResourceTerms(formula, is_given=formula.create_literal())
        self.actor = ActorTerms(formula, self.resource, people)
        self._subresources = [SubresourceTerms(formula) for _ in range(number_of_subresources)]
        self._privilege = SingleText(formula, TRUE)
        self._privileges = frozenset(privileges)
        formula.require(*(self._privilege.value(name) for name in sorted(self._privileges)))
        self._shared_values: dict[tuple[str, str], int] = {}
        self._shared_beginnings: dict[tuple[str, str], int] = {}
        self._literals: dict[Statement, int] = {}

    def applies(self, statement: Statement) -> int:
        """Return the literal of a statement that matches the question."""
        literal = self._literals.get(statement)
        if literal is None:
            literal = self._literals[statement] = self.formula.define_all(self._translate(statement))
        return literal

    def _translate(self, statement: Statement) -> Iterator[int]:
        names = sorted(statement.privileges & self._privileges)
        yield self.formula.define_any([self._privilege.value(name) for name in names])
        if not names:
            return
        clause, is_deny = statement.actors, statement.effect is Effect.DENY
        yield self.formula.define_any([self.actor.holds_token(token) for token in sorted(clause.tokens)])
        for token in sorted(clause.excluded_tokens):
            yield -self.actor.holds_token(token)
        yield self.resource.covers(statement.resources)
        if statement.subresources is not None:
            yield self._meets_constraint(statement.subresources, is_deny=is_deny)
        for condition in statement.actor_conditions:
            yield self._meets_condition(condition, is_deny=is_deny)

    def _meets_constraint(self, selector: Selector, *, is_deny: bool) -> int:
        pairs = [(terms.is_given, terms.meets(selector)) for terms in self._subresources]
        if is_deny:
            return self.formula.define_any([self.formula.define_all(pair) for pair in pairs])
        return self.formula.define_all([self.formula.define_any([-is_given, passes]) for is_given, passes in pairs])

    # -- conditions on the actor and the action ---------------------------------------------------------------------

    def _meets_condition(self, condition: ActorCondition, *, is_deny: bool) -> int:
        """Return the literal of a condition, which is false for an allow if a fact is not known, true for a deny."""
        formula = self.formula
        are_known = formula.define_all(
            [self.actor.find_attribute(name).has_value for name in condition.tested_attributes]
        )
        terms = self._find_terms(condition.field)
        alternatives = [self._meets_reference(condition, name) for name in sorted(condition.references)]
        find = terms.prefix if condition.condition is Condition.STARTS_WITH else terms.value
        is_met = formula.define_any([*alternatives, *(find(text) for text in sorted(condition.values))])
        parts = [self.resource.is_given if condition.is_about_resource else terms.has_value]
        if condition.condition is Condition.NOT_EQUALS:
            parts += [-is_met, *(self.actor.find_attribute(name).has_value for name in condition.references)]
        else:
            parts.append(is_met)
        outcome = formula.define_all(parts)
        return formula.define_any([-are_known, outcome]) if is_deny else outcome

    def _find_terms(self, field: str) -> TextTerms:
        return self.resource.terms(field) if field.startswith("PROPERTY.") else self.actor.find_attribute(field)

    def _meets_reference(self, condition: ActorCondition, reference: str) -> int:
        if condition.condition is Condition.STARTS_WITH:
            return self._find_shared_beginning(condition.field, reference)
        return self._find_shared_value(condition.field, reference)

    def _find_shared_value(self, field: str, reference: str) -> int:
        """Return the literal of a value that is in both fields. Two fields that have values may share one more."""
        literal = self._shared_values.get((field, reference))
        if literal is None:
            literal = self._shared_values[field, reference] = self.formula.create_literal()
            terms, other_terms = self._find_terms(field), self._find_terms(reference)
            self.formula.require(-literal, terms.has_value)
            self.formula.require(-literal, other_terms.has_value)
            for first_terms, second_terms in ((terms, other_terms), (other_terms, terms)):
                first_terms.observe(_SharedValueListener(self.formula, second_terms, literal, is_beginning=False))
        return literal

    def _find_shared_beginning(self, field: str, reference: str) -> int:
        """Return the literal of a value of one field that begins with a value of the other."""
        literal = self._shared_beginnings.get((field, reference))
        if literal is None:
            literal = self._shared_beginnings[field, reference] = self.formula.create_literal()
            terms, other_terms = self._find_terms(field), self._find_terms(reference)
            self.formula.require(-literal, terms.has_value)
            self.formula.require(-literal, other_terms.has_value)
            self.formula.require(-self._find_shared_value(field, reference), literal)
            other_terms.observe(_SharedValueListener(self.formula, terms, literal, is_beginning=True))
        return literal

    # -- wishes -----------------------------------------------------------------------------------------------------

    def list_wishes(self, question: Question) -> list[list[int]]:
        """Return the wishes for an example, the best first: each a list of literals that should all be true.

        A platform privilege is asked about without an entity, any other about one that the catalog can hold: a dataset
        where the privilege can be used on one. Sub-resources are tags.
        """
        formula, resource = self.formula, self.resource
        info = vocabulary.load_datahub().get(question.privilege)
        privilege = self._privilege.value(question.privilege)
        if info is not None and info.scope == vocabulary.PLATFORM:
            return [[privilege, -resource.is_given]]
        names = sorted(vocabulary.load_datahub().resource_types if info is None else info.resource_types or ())
        names = names or sorted(vocabulary.load_datahub().resource_types)
        usual = [name for name in names if name == _USUAL_TYPE] or names[:1]
        entity = [privilege, resource.is_given, resource.has_urn, resource.is_storable]
        tags = [
            formula.define_any([-terms.is_given, formula.define_all([-terms.stands_for_all, terms.type.value(_TAG)])])
            for terms in self._subresources
        ]
        # What is itself a value of a field, as a container, has more to be told.
        plain = [name for name in names if name not in OWN_FIELDS]
        types = [formula.define_any([resource.type.value(name) for name in wished]) for wished in (usual, plain, names)]
        wishes = [[*entity, wished_type, *more] for more in (tags, []) for wished_type in types]
        return [*wishes, entity]

    # -- the solution ---------------------------------------------------------------------------------------------

    def find_question(self) -> Question | None:
        """Return the question that the solution stands for, None if its actor is nobody of those it has to be among.

        Raises ProofContradiction if one of the translated statements matches it otherwise than the solution says.
        """
        numbers, holds = count(1), self.formula.holds
        privilege = self._privilege.find_text("", numbers)
        found_actor = self.actor.find_actor(numbers)
        if found_actor is None:
            return None
        actor, holders = found_actor
        resource = None
        if holds(self.resource.is_given):
            type_name = self.resource.find_type(numbers)
            is_actor = holds(self.actor.is_resource)
            urn = actor.urn if is_actor else self.resource.find_urn(type_name, numbers)
            known_facets = {OWNER: holders, **({GROUP_MEMBERSHIP: actor.groups} if is_actor else {})}
            facets = self._find_facets(self.resource, urn, numbers, known_facets)
            actor = self._share_texts(actor, facets, numbers)
            resource = Resource(urn, type_name, facets, self.actor.find_owners(facets[OWNER], holders))
        else:
            actor = self._share_texts(actor, {}, numbers)
        subresources = tuple(self._find_subresources(numbers))
        question = Question(actor, privilege, resource, subresources)
        for statement, literal in self._literals.items():
            if matches(statement, question) != holds(literal):
                claim = "matches" if holds(literal) else "does not match"
                raise ProofContradiction(question, f"The solver says that {statement.origin} {claim}:")
        return question

    def _find_subresources(self, numbers: Iterator[int]) -> Iterator[Resource]:
        for terms in self._subresources:
            if self.formula.holds(terms.is_given):
                if self.formula.holds(terms.stands_for_all):
                    yield Resource(ANY_SUBRESOURCE, "", {})
                    continue
                type_name = terms.find_type(numbers)
                urn = terms.find_urn(type_name, numbers)
                facets = self._find_facets(terms, urn, numbers, {})
                yield Resource(urn, type_name, facets, frozenset(Owner(owner, "") for owner in facets[OWNER]))

    def _find_facets(
        self, terms: ResourceTerms, urn: str, numbers: Iterator[int], known_facets: dict[str, frozenset[str]]
    ) -> dict[str, frozenset[str]]:
        """Return the facets of an invented resource; a field that the solution does not name has no values."""
        return dict.fromkeys(self._fields, frozenset[str]()) | terms.find_facets(urn, numbers, known_facets)

    def _share_texts(self, actor: Actor, facets: dict[str, frozenset[str]], numbers: Iterator[int]) -> Actor:
        """Give two fields a text in common, or a text and a longer one, where the solution wants that."""
        attributes = set(actor.attributes)

        def add(field: str, text: str) -> None:
            if field.startswith("PROPERTY."):
                facets[field] |= {text}
            else:
                attributes.add((field, text))

        for ending, literals in (("", self._shared_values), ("+", self._shared_beginnings)):
            for (field, reference), literal in literals.items():
                if self.formula.holds(literal):
                    text = self._find_terms(field).invent("", numbers, self._find_terms(reference))
                    add(field, text + ending)
                    add(reference, text)
        return Actor(actor.urn, actor.groups, actor.roles, attributes=frozenset(attributes))


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
