"""Breaches of the rules about every catalog: *never*, *not both* and *no policy*.

People are those of the population; what entities carry is free. An allow breaks a rule if it reaches one of the rule's
people and its entities can be of those that the rule covers, unless denies take all of that away. Every example is put
to `decide` first. The policy that gives everybody their own account (View Self) breaks no guardrail: it is no choice.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from policies.engine.actor_conditions import bind_actor
from policies.engine.evaluate import decide
from policies.engine.families import datahub, vocabulary
from policies.engine.guardrails.population import Population, list_numbers
from policies.engine.guardrails.proving import find_proven_access
from policies.engine.guardrails.rules import Rule, RuleKind, RuleScope
from policies.engine.guardrails.witness import Undecided, find_resource, find_undenied, is_surely_met
from policies.engine.model import Actor, Effect, Question, Statement
from policies.engine.proofs.verdicts import Verdict
from policies.engine.proofs.ways import Way, list_ways
from policies.engine.selectors import (
    EVERYONE,
    IN_ANY_GROUP,
    Criterion,
    Owner,
    Resource,
    is_relational,
    owner_type,
)
from policies.engine.snapshot import Snapshot

#: Most breaches that one judgment collects: more are not listed, and are not compared.
MAX_BREACHES = 10_000

_GROUP_PREFIX = "urn:li:corpGroup:"

Criteria = tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Breach:
    """What breaks a rule: a policy that lets people use a privilege on something.

    `privilege` is the one that they hold, `asked` that of the rule, which it is or in whose place it is accepted.
    `question` is an example that `decide` allows, if there is one. Without `is_certain` it is not known whether denies
    leave anything of it, for this `reason` if one is known. `other` is the example of the other scope of *not both*.
    `people` are the URNs of all whom it is about: of *no policy* nobody. `criteria` are those of the entities and
    `denies` those of the denies that narrow them.
    """

    policy: str
    privilege: str
    people: frozenset[str]
    question: Question | None
    asked: str = ""
    criteria: frozenset[Criterion] = frozenset()
    denies: frozenset[Criteria] = frozenset()
    other: Question | None = None
    is_certain: bool = False
    reason: str = ""

    @property
    def extent(self) -> tuple[str, frozenset[Criterion], frozenset[Criteria]]:
        """What it lets people do, whoever they are."""
        return self.asked, self.criteria, self.denies

    def is_within(self, earlier: "Breach") -> bool:
        """Whether an earlier breach, of these people or of more, let them do as much."""
        return (
            self.asked == earlier.asked
            and all(is_surely_met(self.criteria, criterion) for criterion in earlier.criteria)
            and earlier.denies <= self.denies
        )


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """Judges one rule on a snapshot, for the people of a population."""

    rule: Rule
    snapshot: Snapshot
    population: Population

    def find_breaches(self, *, policies: Collection[str] | None = None) -> tuple[Breach, ...]:
        """Return the breaches that allows of these policies (None: of all) have a part in, up to MAX_BREACHES."""
        match self.rule.kind:
            case RuleKind.NEVER:
                breaches = self._find_access(
                    self.rule.scopes[0], policies, self._select_people(self.population.everybody)
                )
            case RuleKind.NOT_BOTH:
                breaches = self._find_pairs(policies)
            case RuleKind.NO_POLICY:
                breaches = self._find_policies(policies)
            case _:
                raise ValueError(f"A rule {self.rule.kind} is about today's catalog.")
        return tuple(breach for breach, _ in zip(breaches, range(MAX_BREACHES), strict=False))

    def is_touched(self, statements: Iterable[Statement]) -> bool:
        """Whether one of these statements lists a privilege of the rule."""
        privileges = self.rule.counted_privileges
        return any(not statement.privileges.isdisjoint(privileges) for statement in statements)

    # -- the three rules ------------------------------------------------------------------------------------------

    def _find_access(self, scope: RuleScope, policies: Collection[str] | None, people: int) -> Iterator[Breach]:
        """Yield how some of these people may use a privilege of the scope on something that it covers."""
        denies_by_way = {way: self._list_denies(way.denied) for way in _list_ways(scope)}
        fields = self.snapshot.tested_fields(frozenset[str]().union(*(way.denied for way in denies_by_way)))
        for statement in self._list_allows(scope, policies):
            reached = self.population.find_reached(statement.actors) & people
            if not reached:
                continue
            for way in _select_ways(denies_by_way, statement):
                narrow_scope = replace(scope, resources=way.narrow(scope.resources))
                if not _can_meet(statement, narrow_scope):
                    continue
                for bound_statement, bound_people in self._bind(statement, reached):
                    for part, denies in self._split_by_denies(bound_people, denies_by_way[way]):
                        breach = self._build_breach(bound_statement, way, narrow_scope, part, denies, fields)
                        if breach is not None:
                            yield breach

    def _find_pairs(self, policies: Collection[str] | None) -> Iterator[Breach]:
        """Yield how some people may use something of both scopes: one breach for each way into one of them."""
        everybody = self._select_people(self.population.everybody)
        orders = ((0, 1), (1, 0)) if policies is not None else ((0, 1),)
        for index, other_index in orders:
            for breach in self._find_access(self.rule.scopes[index], policies, everybody):
                people = self._collect(breach.people)
                for other_breach in self._find_access(self.rule.scopes[other_index], None, people):
                    shared_people = breach.people & other_breach.people
                    yield Breach(
                        breach.policy,
                        breach.privilege,
                        shared_people,
                        self._ask_for(breach.question, shared_people),
                        breach.asked,
                        breach.criteria,
                        breach.denies,
                        self._ask_for(other_breach.question, shared_people),
                        is_certain=breach.is_certain and other_breach.is_certain,
                        reason=breach.reason or other_breach.reason,
                    )
                    people &= ~self._collect(shared_people)
                    if not people:
                        break

    def _find_policies(self, policies: Collection[str] | None) -> Iterator[Breach]:
        """Yield the policies of which one allow speaks to the rule's people about what it covers."""
        (scope,) = self.rule.scopes
        for statement in self._list_allows(scope, policies):
            if not self._is_about_people(statement):
                continue
            for way in _select_ways(_list_ways(scope), statement):
                narrow_scope = replace(scope, resources=way.narrow(scope.resources))
                if not _can_meet(statement, narrow_scope):
                    continue
                yield Breach(
                    statement.origin.policy,
                    way.privilege,
                    frozenset(),
                    self._ask_somebody(statement, way.privilege, narrow_scope),
                    way.asked,
                    frozenset((*statement.resources.criteria, *narrow_scope.resources.criteria)),
                    is_certain=True,
                )
                break

    def _ask_somebody(self, statement: Statement, privilege: str, scope: RuleScope) -> Question | None:
        """Return a question that a statement answers for one of the rule's people, unless denies take it away."""
        people = self._select_people(self.population.find_named(statement.actors))
        if not people:
            return None
        fields = self.snapshot.tested_fields((privilege,))
        resource = self._find_example(privilege, statement, scope, (), None, fields)
        question = Question(self.population.find_first(people), privilege, resource)
        return question if decide(self.snapshot, question).is_allowed else None

    # -- parts ----------------------------------------------------------------------------------------------------

    def _select_people(self, people: int) -> int:
        rule_people = self.rule.people
        named_people = self.population.find_named(rule_people.match)
        return people & (~named_people if rule_people.is_complement else named_people)

    def _list_allows(self, scope: RuleScope, policies: Collection[str] | None) -> Iterator[Statement]:
        privileges = frozenset(way.privilege for way in _list_ways(scope))
        if policies is not None:
            statements = self.snapshot.list_statements_of(policies)
        else:
            numbered = {
                (statement.origin.policy, statement.origin.index): statement
                for privilege in sorted(privileges)
                for statement in self.snapshot.list_statements(privilege)
            }
            statements = tuple(numbered.values())
        for statement in statements:
            if (
                statement.effect is Effect.ALLOW
                and not statement.privileges.isdisjoint(privileges)
                and statement.origin.policy != datahub.VIEW_SELF.policy
            ):
                yield statement

    def _list_denies(self, privileges: frozenset[str]) -> tuple[Statement, ...]:
        if not self.snapshot.has_denies(privileges):
            return ()
        denies = (
            statement
            for privilege in sorted(privileges)
            for statement in self.snapshot.list_statements(privilege)
            if statement.effect is Effect.DENY
        )
        return tuple(dict.fromkeys(denies))

    def _bind(self, statement: Statement, people: int) -> Iterator[tuple[Statement, int]]:
        """Yield the statement for people with the same properties, and these people."""
        if not statement.actor_conditions:
            yield statement, people
            return
        people_by_statement: dict[Statement, int] = {}
        for number in list_numbers(people):
            bound_statement = bind_actor(statement, self.population.actors[number])
            if bound_statement is not None:
                people_by_statement[bound_statement] = people_by_statement.get(bound_statement, 0) | 1 << number
        yield from people_by_statement.items()

    def _split_by_denies(self, people: int, denies: Sequence[Statement]) -> Iterator[tuple[int, tuple[Statement, ...]]]:
        """Yield sets of people, and the denies that reach each of them."""
        parts: dict[tuple[Statement, ...], int] = {(): people}
        for deny in denies:
            for bound_deny, reached in self._bind(deny, self.population.find_reached(deny.actors) & people):
                split_parts: dict[tuple[Statement, ...], int] = {}
                for earlier_denies, part in parts.items():
                    for key, members in (
                        ((*earlier_denies, bound_deny), part & reached),
                        (earlier_denies, part & ~reached),
                    ):
                        if members:
                            split_parts[key] = split_parts.get(key, 0) | members
                parts = split_parts
        yield from ((part, key) for key, part in parts.items() if part)

    def _build_breach(
        self,
        statement: Statement,
        way: Way,
        scope: RuleScope,
        people: int,
        denies: tuple[Statement, ...],
        fields: Collection[str],
    ) -> Breach | None:
        actor = self.population.find_first(people)
        owner_tokens = sorted(token for token in statement.actors.tokens if is_relational(token))
        is_named = not statement.actors.tokens.isdisjoint(actor.tokens)
        owner = None if is_named or not owner_tokens else Owner(actor.urn, owner_type(owner_tokens[0]) or "")
        criteria = frozenset((*statement.resources.criteria, *scope.resources.criteria))
        # Who owns an entity may escape a deny, or meet one: witnesses do not look at that.
        is_simple = not any(any(map(is_relational, deny.actors.tested_tokens)) for deny in denies)
        question: Question | None = None
        reason = ""
        try:
            resource = self._find_example(way.asked, statement, scope, denies, owner, fields)
            is_found = resource is not None or _is_platform(way.asked, scope)
        except Undecided:
            resource, is_found, is_simple = None, False, False
        if is_found and way.is_open(self.snapshot, Question(actor, way.privilege, resource)):
            question = Question(actor, way.privilege, resource)
        elif not statement.resources.needs_resource and self._is_allowed_on_nothing(actor, way, scope):
            question = Question(actor, way.privilege)
        elif is_simple and resource is None:
            return None
        else:
            verdict, question, reason = find_proven_access(self.snapshot, actor, way, scope, statement, denies)
            if verdict is Verdict.NO:
                return None
        return Breach(
            statement.origin.policy,
            way.privilege if question is None else question.privilege,
            self.population.list_urns(people),
            question,
            way.asked,
            criteria,
            frozenset(deny.resources.criteria for deny in denies),
            is_certain=question is not None,
            reason=reason,
        )

    def _is_allowed_on_nothing(self, actor: Actor, way: Way, scope: RuleScope) -> bool:
        """Whether somebody may use it where no entity is asked about, which a deny on every entity leaves."""
        return not scope.resources.needs_resource and way.is_open(self.snapshot, Question(actor, way.privilege))

    def _find_example(
        self,
        privilege: str,
        statement: Statement,
        scope: RuleScope,
        denies: tuple[Statement, ...],
        owner: Owner | None,
        fields: Collection[str],
    ) -> Resource | None:
        """Return an entity on which the statement counts, or None: for a platform privilege, or if there is none."""
        if _is_platform(privilege, scope):
            return None
        criteria = tuple(dict.fromkeys((*statement.resources.criteria, *scope.resources.criteria)))
        deny_criteria = [deny.resources.criteria for deny in denies]
        return find_undenied(criteria, deny_criteria, fields=fields, owner=owner)

    def _is_about_people(self, statement: Statement) -> bool:
        """Whether a clause names those whom the rule names, or is for everybody or all groups that they are among."""
        people, tokens = self.rule.people, statement.actors.tokens
        if people.is_complement:
            return bool(self._select_people(self.population.find_named(statement.actors)))
        named_tokens = people.match.tokens
        if EVERYONE in tokens or not named_tokens.isdisjoint(tokens):
            return True
        if IN_ANY_GROUP in tokens and any(token.startswith(_GROUP_PREFIX) for token in named_tokens):
            return True
        users = [actor for actor in self.population.actors if actor.urn in named_tokens]
        return any(not tokens.isdisjoint(actor.tokens) for actor in users)

    def _collect(self, urns: frozenset[str]) -> int:
        return self.population.select(lambda actor: actor.urn in urns, self.population.everybody)

    def _ask_for(self, question: Question | None, people: frozenset[str]) -> Question | None:
        """Return the question for one of these people, if `decide` allows it."""
        if question is None or question.actor.urn in people:
            return question
        actor = next(actor for actor in self.population.actors if actor.urn in people)
        asked_question = question._replace(actor=actor)
        return asked_question if decide(self.snapshot, asked_question).is_allowed else None


def find_added(breaches: Iterable[Breach], earlier_breaches: Sequence[Breach]) -> Breach | None:
    """Return a breach that lets somebody do more than the earlier ones did; None if there is none."""
    # Most breaches were there as they are: only the others are compared with all of them.
    known_people: dict[tuple[str, frozenset[Criterion], frozenset[Criteria]], set[str]] = {}
    for earlier in earlier_breaches:
        known_people.setdefault(earlier.extent, set()).update(earlier.people)
    for breach in breaches:
        if breach.extent in known_people and breach.people <= known_people[breach.extent]:
            continue
        wide_breaches = [earlier for earlier in earlier_breaches if breach.is_within(earlier)]
        if not wide_breaches:
            return breach
        people = frozenset[str]().union(*(earlier.people for earlier in wide_breaches))
        if not breach.people <= people:
            return breach
    return None


def _list_ways(scope: RuleScope) -> list[Way]:
    return [way for privilege in sorted(scope.privileges) for way in list_ways(privilege)]


def _select_ways(ways: Iterable[Way], statement: Statement) -> Iterator[Way]:
    """Yield the ways that a statement gives, without an umbrella beside the privilege itself, which gives no more."""
    for way in ways:
        if way.privilege in statement.privileges and not (way.is_umbrella and way.asked in statement.privileges):
            yield way


def _can_meet(statement: Statement, scope: RuleScope) -> bool:
    """Whether an entity could be covered by both; a platform privilege needs none."""
    if statement.resources.needs_resource or scope.resources.needs_resource:
        return find_resource((*statement.resources.criteria, *scope.resources.criteria)) is not None
    return True


def _is_platform(privilege: str, scope: RuleScope) -> bool:
    info = vocabulary.load_datahub().get(privilege)
    return not scope.resources.needs_resource and info is not None and info.scope == vocabulary.PLATFORM
