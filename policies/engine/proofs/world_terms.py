"""Terms about a whole question, statements as terms, and the question that a solution stands for."""

from collections.abc import Iterable, Iterator
from itertools import count

from policies.engine.evaluate import matches
from policies.engine.families import vocabulary
from policies.engine.model import Actor, Effect, Question, Statement
from policies.engine.proofs.actor_terms import ActorTerms
from policies.engine.proofs.condition_terms import ConditionTerms
from policies.engine.proofs.formula import TRUE, Formula
from policies.engine.proofs.people import People
from policies.engine.proofs.resource_terms import ResourceTerms
from policies.engine.proofs.subresource_terms import TouchedTerms
from policies.engine.proofs.texts import SingleText
from policies.engine.proofs.verdicts import ProofContradiction
from policies.engine.selectors import GROUP_MEMBERSHIP, OWN_FIELDS, OWNER, Resource

#: The type of an entity in an example, where nothing says another.
_USUAL_TYPE = "dataset"


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
        self._conditions = ConditionTerms(formula, self.resource, self.actor.find_attribute)
        self._touched = TouchedTerms(formula, number_of_subresources, self._fields)
        self._privilege = SingleText(formula, TRUE)
        self._privileges = frozenset(privileges)
        formula.require(*(self._privilege.value(name) for name in sorted(self._privileges)))
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
        yield from self._touched.meets(statement)
        for condition in statement.actor_conditions:
            yield self._conditions.meets(condition, is_deny=is_deny)

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
        tags = self._touched.list_wishes()
        # What is itself a value of a field, as a container, has more to be told.
        plain = [name for name in names if name not in OWN_FIELDS]
        types = [formula.define_any([resource.type.value(name) for name in wished]) for wished in (usual, plain, names)]
        wishes = [[*entity, wished_type, *more] for more in (tags, []) for wished_type in types]
        return [*wishes, entity]

    # -- the solution ---------------------------------------------------------------------------------------------

    def find_question(self) -> Question | None:
        """Return the question that the solution stands for, None for one that cannot be: it is excluded then.

        Its actor may be nobody of those it has to be among, or an entity carry one thing here and another there.

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
            facets = dict.fromkeys(self._fields, frozenset[str]()) | self.resource.find_facets(
                urn, numbers, known_facets
            )
            actor = self._share_texts(actor, facets, numbers)
            resource = Resource(urn, type_name, facets, self.actor.find_owners(facets[OWNER], holders))
        else:
            actor = self._share_texts(actor, {}, numbers)
        subresources = self._touched.find_subresources(self.resource, resource, numbers)
        if subresources is None:
            return None
        question = Question(actor, privilege, resource, subresources)
        for statement, literal in self._literals.items():
            if matches(statement, question) != holds(literal):
                claim = "matches" if holds(literal) else "does not match"
                raise ProofContradiction(question, f"The solver says that {statement.origin} {claim}:")
        return question

    def _share_texts(self, actor: Actor, facets: dict[str, frozenset[str]], numbers: Iterator[int]) -> Actor:
        attributes = self._conditions.share_texts(actor.attributes, facets, numbers)
        return Actor(actor.urn, actor.groups, actor.roles, attributes=attributes)
