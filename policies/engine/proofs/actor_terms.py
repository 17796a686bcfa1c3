"""Terms about the actor of a question, by itself and in relation to the resource: being it, and owning it."""

from collections.abc import Iterator

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.proofs.formula import FALSE, TRUE, Formula
from policies.engine.proofs.people import People
from policies.engine.proofs.resource_terms import GROUP, USER, ResourceTerms
from policies.engine.proofs.texts import SingleText, TextSet
from policies.engine.selectors import (
    EVERYONE,
    GROUP_MEMBERSHIP,
    IN_ANY_GROUP,
    ONESELF,
    OWNER,
    Owner,
    is_relational,
    owner_type,
)

_ROLE = "urn:li:dataHubRole:"


class ActorTerms:
    """The literals of an active actor that is not the system: its URN, groups, roles and attributes.

    With `people` it is one of them.
    """

    def __init__(self, formula: Formula, resource: ResourceTerms, people: People | None = None) -> None:
        self._formula = formula
        self._people = people
        self._resource = resource
        self.urn = SingleText(formula, TRUE, (USER,))
        self.groups = TextSet(formula, (GROUP,))
        self.roles = TextSet(formula, (_ROLE,))
        self._attributes: dict[str, TextSet] = {}
        self._owner_types: dict[str | None, int] = {}
        self.is_resource = formula.create_literal()
        formula.require(-self.is_resource, resource.urn.prefix(USER))
        formula.require(-self.urn.value(SYSTEM_ACTOR))
        resource.urn.observe(self._link_urn)
        resource.terms(GROUP_MEMBERSHIP).observe(self._link_group)
        self._is_owner = FALSE
        self._owns_itself = FALSE
        self._owns_by_group = FALSE

    def holds_token(self, token: str) -> int:
        """Return the literal of a token of actor clauses."""
        if token in (EVERYONE, IN_ANY_GROUP):
            return TRUE if token == EVERYONE else self.groups.has_value
        if is_relational(token):
            return self.is_resource if token == ONESELF else self._find_ownership(owner_type(token))
        for beginning, terms in ((USER, self.urn), (GROUP, self.groups), (_ROLE, self.roles)):
            if token.startswith(beginning):
                return terms.value(token)
        return FALSE

    def find_attribute(self, field: str) -> TextSet:
        """Return the terms of an attribute of the actor or its action; without a value it is not known."""
        if field not in self._attributes:
            self._attributes[field] = TextSet(self._formula)
        return self._attributes[field]

    # -- being the resource ---------------------------------------------------------------------------------------

    def _link_urn(self, text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
        """Require that an actor which is the resource has the same URN, and of two that have, that it is."""
        own_literal = self.urn.prefix(text) if is_prefix else self.urn.value(text)
        self._formula.require(-self.is_resource, -literal, own_literal)
        self._formula.require(-self.is_resource, literal, -own_literal)
        if not is_prefix:
            self._formula.require(-literal, -own_literal, self.is_resource)

    def _link_group(self, text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
        """Require that an actor which is the resource is in the groups that the resource is in."""
        own_literal = self.groups.prefix(text) if is_prefix else self.groups.value(text)
        self._formula.require(-self.is_resource, -literal, own_literal)
        self._formula.require(-self.is_resource, literal, -own_literal)

    # -- owning the resource --------------------------------------------------------------------------------------

    def _find_ownership(self, type_name: str | None) -> int:
        """Return the literal of an owner, as one ownership type or as any (None)."""
        if type_name == "":
            return FALSE  # an entry without a type counts only for clauses on any type
        if self._is_owner == FALSE:
            self._add_ownership()
        if type_name is None:
            return self._is_owner
        literal = self._owner_types.get(type_name)
        if literal is None:
            literal = self._owner_types[type_name] = self._formula.create_literal()
            self._formula.require(-literal, self._is_owner)
        return literal

    def _add_ownership(self) -> None:
        """Add the literals of actors who own the resource themselves or through a group."""
        owners = self._resource.terms(OWNER)
        self._owns_itself, self._owns_by_group = self._formula.create_literal(), self._formula.create_literal()
        self._is_owner = self._formula.define_any([self._owns_itself, self._owns_by_group])
        self._formula.require(-self._owns_itself, owners.has_value)
        self._formula.require(-self._owns_by_group, owners.has_value)
        self._formula.require(-self._owns_by_group, self.groups.has_value)
        owners.observe(self._link_owner)

    def _link_owner(self, text: str, literal: int, is_prefix: bool) -> None:  # noqa: FBT001 - a listener
        require = self._formula.require
        if is_prefix:
            if USER.startswith(text) or text.startswith(USER):
                require(-self._owns_itself, -self.urn.prefix(text), literal)
            if GROUP.startswith(text):
                require(-self._owns_by_group, literal)
        elif text.startswith(GROUP):
            require(-self.groups.value(text), -literal, self._owns_by_group)
        else:
            require(-self.urn.value(text), -literal, self._owns_itself)
            require(-self.urn.value(text), literal, -self._owns_itself)

    # -- the solution ---------------------------------------------------------------------------------------------

    def find_actor(self, numbers: Iterator[int]) -> tuple[Actor, frozenset[str]] | None:
        """Return the actor in the solution, and by which of its URNs, its own or a group's, it owns the resource.

        One who owns through a group that no statement names gets such a group. Where the actor has to be one of some
        people, and none is as the solution says, that is excluded from further solutions and None is returned.
        """
        person = self._find_free_actor(numbers) if self._people is None else self._find_person(self._people)
        if person is None:
            return None
        groups, holders = person.groups, frozenset[str]()
        if self._formula.holds(self._owns_itself):
            holders |= {person.urn}
        if self._formula.holds(self._owns_by_group):
            owning_groups = self._find_owning_groups(person)
            if not owning_groups:
                owning_groups = frozenset((self.groups.invent(GROUP, numbers, self._resource.terms(OWNER)),))
            groups |= owning_groups
            holders |= owning_groups
        attributes = frozenset(
            (field, text) for field, terms in self._attributes.items() for text in terms.find_texts((), numbers)
        )
        return Actor(person.urn, groups, person.roles, attributes=attributes), holders

    def _find_free_actor(self, numbers: Iterator[int]) -> Actor:
        urn = self.urn.find_text(USER, numbers)
        return Actor(urn, self.groups.find_texts((), numbers), self.roles.find_texts((), numbers))

    def _find_owning_groups(self, person: Actor) -> frozenset[str]:
        """Return groups by which a person may own the resource: named as owners, or one that no statement names."""
        owners = self._resource.terms(OWNER)
        named_groups = frozenset(group for group in person.groups if self._formula.holds(owners.find_value(group)))
        if named_groups or self._people is None:
            return named_groups
        return frozenset([group for group in sorted(person.groups) if owners.is_free(group)][:1])

    def _find_person(self, people: People) -> Actor | None:
        """Return one of the people who is as the solution says, or exclude what nobody is."""
        holds, candidates, reasons = self._formula.holds, people.everybody, []
        literals = [
            (literal, people.find_holders(text or beginning, is_beginning=is_prefix))
            for beginning, terms in ((USER, self.urn), (GROUP, self.groups), (_ROLE, self.roles))
            for text, literal, is_prefix in terms.list_literals()
        ]
        for literal, holders in sorted(literals, key=lambda pair: not holds(pair[0])):
            remaining_candidates = candidates & (holders if holds(literal) else ~holders)
            if remaining_candidates != candidates:
                reasons.append(-literal if holds(literal) else literal)
                candidates = remaining_candidates
        if not holds(self._owns_by_group):
            person = next(people.select(candidates), None)
        else:
            person = next((person for person in people.select(candidates) if self._find_owning_groups(person)), None)
            owners, groups = (
                self._resource.terms(OWNER),
                {g for actor in people.select(candidates) for g in actor.groups},
            )
            reasons += [
                -self._owns_by_group,
                *(literal for group in groups for literal in owners.list_excluding(group)),
            ]
        if person is None:
            self._formula.require(*dict.fromkeys(reasons))
        return person

    def find_owners(self, owner_urns: frozenset[str], holders: frozenset[str]) -> frozenset[Owner]:
        """Return the entries of ownership in the solution; the actor's have the ownership types."""
        holds = self._formula.holds
        types = [name for name, literal in self._owner_types.items() if name and holds(literal)] or [""]
        other_owners = frozenset(Owner(urn, "") for urn in owner_urns - holders)
        return other_owners | {Owner(holder, name) for holder in holders for name in types}
