"""Terms about one question before and after a change, by one person of whom it is known who that is.

The facts of an entity are free and the same on both sides, but for owners that the change names, and for the groups
of people whose accounts are asked about.
"""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from policies.engine import families
from policies.engine.evaluate import matches
from policies.engine.model import Actor, Effect, Question, Statement
from policies.engine.proofs.condition_terms import ConditionTerms
from policies.engine.proofs.formula import FALSE, TRUE, Formula
from policies.engine.proofs.known_states import KnownChange
from policies.engine.proofs.resource_terms import ResourceTerms
from policies.engine.proofs.subresource_terms import TouchedTerms
from policies.engine.proofs.texts import SingleText, TextSet
from policies.engine.proofs.verdicts import ProofContradiction
from policies.engine.selectors import (
    GROUP_MEMBERSHIP,
    ID,
    ONESELF,
    OWNER,
    Condition,
    Criterion,
    Owner,
    Resource,
    Selector,
    is_relational,
    owner_type,
)

#: The sides of a change.
BEFORE, AFTER = 0, 1

#: The type that an example has where nothing says another.
_USUAL_TYPE = "dataset"


class AskedTwice(NamedTuple):
    """The same question before and after a change."""

    earlier: Question
    later: Question


class ChangeTerms:
    """The literals of a question by one person, before and after a change.

    `privileges` are those that it may be about, `holders` the URNs by which the person can own entities, for each side.
    """

    def __init__(
        self,
        formula: Formula,
        change: KnownChange,
        person: str,
        privileges: Iterable[str],
        holders: tuple[Iterable[str], Iterable[str]],
        number_of_subresources: int = 0,
    ) -> None:
        self._formula = formula
        self._change = change
        self._actors = change.before.people[person], change.after.people[person]
        self._holders = tuple(map(tuple, holders))
        self._fields = change.tested_fields | {OWNER}
        self._resource = ResourceTerms(formula, is_given=formula.create_literal())
        self._attributes: dict[str, TextSet] = {}
        self._conditions = ConditionTerms(formula, self._resource, self._find_attribute)
        self._touched = TouchedTerms(formula, number_of_subresources, self._fields)
        self._privilege = SingleText(formula, TRUE)
        self._privileges = frozenset(privileges)
        formula.require(*(self._privilege.value(name) for name in sorted(self._privileges)))
        self._typed_owners: dict[tuple[str, str], int] = {}
        self._linked_people: set[str] = set()
        self._literals: dict[tuple[int, Statement], int] = {}
        self._wishes: list[list[int]] | None = None
        for entity in change.owned_entities:
            formula.require(-self._resource.urn.value(entity), self._resource.is_storable)
        self._require_objects()

    def _require_objects(self) -> None:
        """Require that what has the type and object id of a known entity is this entity."""
        for (type_name, object_id), entity in self._change.objects.items():
            is_object = self._resource.terms(ID).value(object_id), self._resource.type.value(type_name)
            self._formula.require(*(-literal for literal in is_object), self._resource.urn.value(entity))

    def applies(self, statement: Statement, side: int) -> int:
        """Return the literal of a statement that matches the question on a side."""
        literal = self._literals.get((side, statement))
        if literal is None:
            literal = self._formula.define_all(self._translate(statement, side))
            self._literals[side, statement] = literal
        return literal

    def is_about(self, privileges: Iterable[str], entity: str | None) -> int:
        """Return the literal of one of some privileges on an entity; None: on the platform.

        Privileges of the platform are held there whatever entity a question names beside them.
        """
        names = self._privileges.intersection(privileges)
        held_anywhere = names & families.platform_privileges() if entity is None else frozenset[str]()
        is_at_place = -self._resource.is_given if entity is None else self._resource.urn.value(entity)
        is_there, is_anywhere = (
            self._formula.define_any([self._privilege.value(name) for name in sorted(part)])
            for part in (names - held_anywhere, held_anywhere)
        )
        return self._formula.define_any([self._formula.define_all([is_at_place, is_there]), is_anywhere])

    def _translate(self, statement: Statement, side: int) -> Iterator[int]:
        names = sorted(statement.privileges & self._privileges)
        yield self._formula.define_any([self._privilege.value(name) for name in names])
        clause, tokens = statement.actors, self._actors[side].tokens
        if not names or not tokens.isdisjoint(clause.excluded_tokens):
            yield FALSE
            return
        if tokens.isdisjoint(clause.tokens):
            yield self._formula.define_any([self._holds_token(token, side) for token in sorted(clause.tokens)])
        for token in sorted(clause.excluded_tokens):
            yield -self._holds_token(token, side)
        yield self._covers(statement.resources, side)
        yield from self._touched.meets(statement)
        for condition in statement.actor_conditions:
            yield self._conditions.meets(condition, is_deny=statement.effect is Effect.DENY)

    def _find_attribute(self, field: str) -> TextSet:
        if field not in self._attributes:
            self._attributes[field] = TextSet(self._formula)
        return self._attributes[field]

    # -- what the resource is to the person ---------------------------------------------------------------------------

    def _holds_token(self, token: str, side: int) -> int:
        """Return the literal of a token that depends on the resource; FALSE for any other."""
        if not is_relational(token):
            return FALSE
        if token == ONESELF:
            return self._resource.urn.value(self._actors[side].urn)
        type_name = owner_type(token)
        if type_name == "":
            return FALSE  # an entry without a type counts only for clauses on any type
        return self._formula.define_any([self._find_owner(holder, type_name, side) for holder in self._holders[side]])

    def _find_owner(self, holder: str, type_name: str | None, side: int) -> int:
        owners = self._resource.terms(OWNER)
        literal = owners.value(holder) if type_name is None else self._find_typed_owner(holder, type_name)
        known_values = [
            self._resource.urn.value(entity)
            for entity in self._change.owned_entities
            if any(
                owner.actor == holder and type_name in (None, owner.type)
                for owner in self._change.find_owners(side, entity)
            )
        ]
        return self._formula.define_any([literal, *known_values])

    def _find_typed_owner(self, holder: str, type_name: str) -> int:
        literal = self._typed_owners.get((holder, type_name))
        if literal is None:
            literal = self._typed_owners[holder, type_name] = self._formula.create_literal()
            self._formula.require(-literal, self._resource.terms(OWNER).value(holder))
        return literal

    # -- what the resource carries ------------------------------------------------------------------------------------

    def _covers(self, selector: Selector, side: int) -> int:
        literals = [self._holds(criterion, side) for criterion in selector.criteria]
        if selector.needs_resource:
            return self._formula.define_all([self._resource.is_given, *literals])
        return self._formula.define_any([-self._resource.is_given, self._formula.define_all(literals)])

    def _holds(self, criterion: Criterion, side: int) -> int:
        known_values = dict(self._list_known(criterion.field, side))
        if not known_values:
            return self._resource.holds(criterion)
        terms = self._resource.terms(criterion.field)
        is_prefix = criterion.condition is Condition.STARTS_WITH
        texts = sorted(criterion.values)
        is_met = self._formula.define_any([(terms.prefix if is_prefix else terms.value)(text) for text in texts])
        if criterion.field == GROUP_MEMBERSHIP:
            # Whose groups are known has no others.
            is_met = self._formula.define_all([is_met, *(-self._resource.urn.value(urn) for urn in known_values)])
        named_urns = [
            self._resource.urn.value(urn)
            for urn, values in known_values.items()
            if any(value.startswith(text) if is_prefix else value == text for value in values for text in texts)
        ]
        literal = self._formula.define_any([is_met, *named_urns])
        return -literal if criterion.condition is Condition.NOT_EQUALS else literal

    def _list_known(self, field: str, side: int) -> Iterator[tuple[str, frozenset[str]]]:
        """Yield the entities whose values in a field differ between the sides, with those that are known."""
        if field == OWNER:
            for entity in self._change.owned_entities:
                yield entity, frozenset(owner.actor for owner in self._change.find_owners(side, entity))
        elif field == GROUP_MEMBERSHIP:
            for urn in sorted(self._change.moved_people):
                yield urn, self._change.sides[side].people[urn].groups

    # -- the solution -------------------------------------------------------------------------------------------------

    def find_next(self) -> AskedTwice | None:
        """Return a question that all clauses allow, one that people ask if there is such a one; None: there is none.

        Raises TimeOver, ProofUnavailable, and ProofContradiction if a translated statement matches it otherwise than
        the solution says.
        """
        while any(self._formula.solve(wish) for wish in self._list_wishes()):
            questions = self._find_question()
            if questions is not None:
                return questions
        return None

    def _list_wishes(self) -> list[list[int]]:
        """Return the wishes for an example, the best first: each a list of literals that should all be true."""
        if self._wishes is None:
            resource, platform_names = self._resource, sorted(self._privileges & families.platform_privileges())
            is_platform = self._formula.define_any([self._privilege.value(name) for name in platform_names])
            usual_type = resource.type.value(_USUAL_TYPE)
            self._wishes = [
                [-is_platform, resource.is_storable, usual_type, *self._touched.list_wishes()],
                [is_platform, -resource.is_given],
                [-is_platform, resource.is_storable],
                [],
            ]
        return self._wishes

    def _find_question(self) -> AskedTwice | None:
        """Return the question of the solution; None for one that cannot be: it is excluded then.

        It may say of a known account what is not so, or of an entity one thing here and another there.
        """
        numbers, holds = count(1), self._formula.holds
        privilege = self._privilege.find_text("", numbers)
        attributes = frozenset(
            (field, text) for field, terms in self._attributes.items() for text in terms.find_texts((), numbers)
        )
        facets: dict[str, frozenset[str]] = {}
        urn = type_name = ""
        if holds(self._resource.is_given):
            type_name = self._resource.find_type(numbers)
            urn = self._resource.find_urn(type_name, numbers) if holds(self._resource.has_urn) else ""
            if self._link_account(urn):
                return None
            facets = dict.fromkeys(self._fields, frozenset[str]())
            facets |= self._resource.find_facets(urn, numbers, {})
        attributes = self._conditions.share_texts(attributes, facets, numbers)
        entity = Resource(urn, type_name, facets) if urn else None
        subresources = self._touched.find_subresources(self._resource, entity, numbers)
        if subresources is None:
            return None
        questions = []
        for side, actor in enumerate(self._actors):
            asking = Actor(actor.urn, actor.groups, actor.roles, actor.is_active, attributes)
            resource = self._build_resource(urn, type_name, facets, side) if type_name else None
            touched = tuple(resource if resource and item.urn == urn else item for item in subresources)
            questions.append(Question(asking, privilege, resource, touched))
        for (side, statement), literal in self._literals.items():
            if matches(statement, questions[side]) != holds(literal):
                claim = "matches" if holds(literal) else "does not match"
                raise ProofContradiction(questions[side], f"The solver says that {statement.origin} {claim}:")
        return AskedTwice(*questions)

    def _build_resource(self, urn: str, type_name: str, facets: dict[str, frozenset[str]], side: int) -> Resource:
        known_owners = self._change.find_owners(side, urn) if urn in self._change.owned_entities else frozenset()
        typed = {Owner(*pair) for pair, literal in self._typed_owners.items() if self._formula.holds(literal)}
        typed_urns = {owner.actor for owner in typed}
        untyped = {Owner(owner, "") for owner in facets.get(OWNER, ()) if owner not in typed_urns}
        owners = frozenset(untyped | typed | known_owners)
        known_facets = {OWNER: frozenset(owner.actor for owner in owners)}
        if urn in self._change.before.people and GROUP_MEMBERSHIP in self._fields:
            known_facets[GROUP_MEMBERSHIP] = self._change.sides[side].people[urn].groups
        return Resource(urn, type_name, facets | known_facets, owners)

    def _link_account(self, urn: str) -> bool:
        """Require the groups of a known account that is asked about, if that has not been done; return whether so."""
        is_known = urn not in self._change.before.people or urn in self._change.moved_people
        if is_known or GROUP_MEMBERSHIP not in self._resource.facets or urn in self._linked_people:
            return False
        self._linked_people.add(urn)
        is_asked, groups = self._resource.urn.value(urn), self._change.before.people[urn].groups

        def link(text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
            has_value = any(group.startswith(text) for group in groups) if is_prefix else text in groups
            self._formula.require(-is_asked, literal if has_value else -literal)

        self._resource.facets[GROUP_MEMBERSHIP].observe(link)
        return True
