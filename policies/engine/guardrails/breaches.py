"""Breaches of the rules about every catalog: *never*, *not both* and *no policy*, found and shown by proofs.

People are those of the population; what entities carry, and who owns them, is free. The policy that gives everybody
their own account (View Self) breaks no guardrail: it is no choice.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from policies.engine.evaluate import decide
from policies.engine.families import datahub, vocabulary
from policies.engine.guardrails.judged_state import JudgedState
from policies.engine.guardrails.rules import Rule, RuleKind, RuleScope
from policies.engine.guardrails.spoken_policies import build_spoken_side
from policies.engine.model import Effect, Question, Statement
from policies.engine.proofs.formula import TimeOver
from policies.engine.proofs.population import list_numbers
from policies.engine.proofs.uses import Side, Use, UseSearch
from policies.engine.proofs.verdicts import ProofContradiction, ProofUnavailable
from policies.engine.proofs.ways import Way, list_ways
from policies.engine.snapshot import Snapshot

#: Most breaches that one judgment collects: more are not listed.
MAX_BREACHES = 10_000

_TIME_IS_OVER = "There was not enough time to show it."


@dataclass(frozen=True, slots=True)
class Breach:
    """A breach of a rule: a policy that lets people use a privilege on something.

    `privilege` is the one that they hold, `asked_privilege` that of the rule: the same, or one in whose place it is
    accepted. `question` is an example that `decide` allows; of *no policy*, where denies refuse it, one that a policy
    allows. Without `is_certain` it is not known whether it breaks the rule, for this `reason`. `other` is the example
    of the other scope of *not both*. `people` are the URNs of all whom it is about: of *no policy* nobody.
    """

    policy: str
    privilege: str
    people: frozenset[str]
    question: Question | None
    asked_privilege: str = ""
    other: Question | None = None
    is_certain: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RuleJudge:
    """Judges one rule in the state `after`, by itself or beside the state `before` with the same people by number.

    `policies` are all that differ between the two (None: any may). `is_over` says when to give up.
    """

    rule: Rule
    after: JudgedState
    is_over: Callable[[], bool]
    before: JudgedState | None = None
    policies: Collection[str] | None = None
    _unknown: list[Breach] = field(default_factory=list)
    _searches: list[UseSearch] = field(default_factory=list)

    def find_breaches(self, *, policies: Collection[str] | None = None) -> tuple[Breach, ...]:
        """Return the breaches after the change, of all policies or through these alone, up to MAX_BREACHES."""
        alone = RuleJudge(self.rule, self.after, self.is_over)
        match self.rule.kind:
            case RuleKind.NEVER:
                breaches = alone._find_access(policies)
            case RuleKind.NOT_BOTH:
                breaches = alone._find_pairs(policies)
            case RuleKind.NO_POLICY:
                breaches = alone._find_policies(policies)
            case _:
                raise ValueError(f"A rule {self.rule.kind} is about today's catalog.")
        listed_breaches = tuple(islice(breaches, MAX_BREACHES))
        return (*listed_breaches, *alone._unknown[:1])

    def find_added(self) -> Breach | None:
        """Return a breach after that lets somebody do what they could not before; None if there is none."""
        breaches: Iterator[Breach]
        match self.rule.kind:
            case RuleKind.NEVER:
                sides = self._build_side(self.after), self._build_earlier_side()
                breaches = (_build_breach(use, self.after) for use in self._find_gains(self.rule.scopes[0], *sides))
            case RuleKind.NOT_BOTH:
                breaches = self._find_added_pairs()
            case _:
                breaches = self._find_added_policies()
        breach = next(iter(breaches), None)
        return breach if breach is not None else next(iter(self._unknown), None)

    # -- never ------------------------------------------------------------------------------------------------------

    def _find_access(self, policies: Collection[str] | None) -> Iterator[Breach]:
        for use in self._find_uses(self.rule.scopes[0], policies, None):
            yield _build_breach(use, self.after)

    def _find_uses(self, scope: RuleScope, policies: Collection[str] | None, people: int | None) -> Iterator[Use]:
        """Yield how these people (None: all) use something of a scope, each once by each policy and privilege."""
        # One search for all scopes: what it finds out about people serves the next one.
        if not self._searches:
            self._searches.append(UseSearch(self._build_side(self.after), None, self.is_over))
        (search,) = self._searches
        everybody = self.after.people.everybody if people is None else people
        people_by_key: dict[tuple[str, str], int] = {}
        for way, allow in _list_allows(scope, search.after.snapshot, policies):
            key = (allow.origin.policy, way.asked_privilege)
            for use in self._catch(search, allow, way, scope, everybody & ~people_by_key.get(key, 0)):
                people_by_key[key] = people_by_key.get(key, 0) | use.people
                yield use

    def _find_gains(self, scope: RuleScope, after: Side, before: Side | None) -> Iterator[Use]:
        """Yield how somebody uses something of a scope after that they did not before."""
        search = UseSearch(after, before, self.is_over)
        changed_people = after.people.everybody if before is None else _find_changed_people(after, before)
        removed, added = (
            (frozenset[Statement](), frozenset[Statement]())
            if before is None
            else self._find_changes(after.snapshot, before.snapshot)
        )
        for way, allow in _list_allows(scope, after.snapshot):
            concerned = after.people.everybody
            if allow not in added:
                undenied = (deny for deny in removed if deny.effect is Effect.DENY and deny.privileges & way.denied)
                concerned &= changed_people | _unite(after.people.find_reached(deny.actors) for deny in undenied)
            if concerned:
                yield from self._catch(search, allow, way, scope, concerned)

    def _catch(self, search: UseSearch, allow: Statement, way: Way, scope: RuleScope, people: int) -> Iterator[Use]:
        """Yield the uses of one allow, and note if they are not known."""
        try:
            yield from search.find_uses(allow, way, scope.resources, people)
            return
        except TimeOver:
            reason = _TIME_IS_OVER
        except ProofUnavailable as error:
            reason = str(error)
        except ProofContradiction:
            reason = "The solver for proofs and the decisions do not agree on it."
        reached = people & search.after.people.find_reached(allow.actors) & search.after.concerned
        urns = search.after.people.list_urns(reached)
        self._unknown.append(Breach(allow.origin.policy, way.privilege, urns, None, way.asked_privilege, reason=reason))

    # -- not both ---------------------------------------------------------------------------------------------------

    def _find_pairs(self, policies: Collection[str] | None) -> Iterator[Breach]:
        """Yield how some people use something of both scopes: one breach for each way into one of them."""
        first, second = self.rule.scopes
        for use in self._find_uses(first, policies, None):
            people = use.people
            for other in self._find_uses(second, None, people):
                shared = people & other.people
                if shared:
                    breach = self._build_pair(use, other, shared)
                    if breach is not None:
                        yield breach
                    people &= ~shared

    def _find_added_pairs(self) -> Iterator[Breach]:
        """Yield how somebody newly uses something of one scope who uses something of the other one, too."""
        for scope, other_scope in (self.rule.scopes, self.rule.scopes[::-1]):
            for gain in self._find_gains(scope, self._build_side(self.after), self._build_earlier_side()):
                for other in self._find_uses(other_scope, None, gain.people):
                    breach = self._build_pair(gain, other, gain.people & other.people)
                    if breach is not None:
                        yield breach

    def _build_pair(self, use: Use, other: Use, people: int) -> Breach | None:
        """Return the breach of both uses, with examples of one person."""
        number = next(list_numbers(people))
        questions = [self._ask_for(number, single_use) for single_use in (use, other)]
        urns = self.after.people.list_urns(people)
        return Breach(
            use.statement.origin.policy,
            use.way.privilege,
            urns,
            questions[0],
            use.way.asked_privilege,
            questions[1],
            is_certain=True,
        )

    def _ask_for(self, number: int, use: Use) -> Question | None:
        """Return an example of a use by this person."""
        actor = self.after.people.actors[number]
        if use.question.actor == actor:
            return use.question
        search = UseSearch(self._build_side(self.after), None, self.is_over)
        scope = next(scope for scope in self.rule.scopes if use.way.asked_privilege in scope.privileges)
        own_use = next(iter(self._catch(search, use.statement, use.way, scope, 1 << number)), None)
        return None if own_use is None else own_use.question

    # -- no policy --------------------------------------------------------------------------------------------------

    def _find_policies(self, policies: Collection[str] | None) -> Iterator[Breach]:
        """Yield the policies of which one allow speaks to the rule's people about something of the scope."""
        (scope,) = self.rule.scopes
        side = build_spoken_side(self.rule, self.after)
        search = UseSearch(side, None, self.is_over)
        known_policies: set[str] = set()
        for way, allow in _list_allows(scope, side.snapshot, policies):
            use = next(iter(self._catch(search, allow, way, scope, side.concerned)), None)
            if use is not None and allow.origin.policy not in known_policies:
                known_policies.add(allow.origin.policy)
                yield self._build_spoken(use, scope)

    def _find_added_policies(self) -> Iterator[Breach]:
        """Yield the policies that speak after to the rule's people about something of which none spoke before."""
        (scope,) = self.rule.scopes
        after = build_spoken_side(self.rule, self.after)
        before = None
        if self.before is not None:
            is_same = self.before.snapshot is self.after.snapshot
            before = build_spoken_side(self.rule, self.before, allows=after.snapshot if is_same else None)
        for use in self._find_gains(scope, after, before):
            yield self._build_spoken(use, scope)

    def _build_spoken(self, use: Use, scope: RuleScope) -> Breach:
        """Return the breach with the example of somebody there is, if the policy lets somebody, and denies do not.

        Else with that of somebody to whom the policy speaks.
        """
        policy, search = use.statement.origin.policy, UseSearch(self._build_side(self.after), None, self.is_over)
        question = None
        for allow in self.after.snapshot.list_statements_of([policy]):
            if allow.origin == use.statement.origin:
                people = self.after.people.everybody
                real_use = next(iter(self._catch(search, allow, use.way, scope, people)), None)
                question = None if real_use is None else real_use.question
        if question is None:
            # Denies refuse it to everybody, or nobody is there: the policy alone says so.
            question = _complete(use.question, self.after.snapshot)
        return Breach(policy, use.way.privilege, frozenset(), question, use.way.asked_privilege, is_certain=True)

    # -- parts ------------------------------------------------------------------------------------------------------

    def _build_side(self, state: JudgedState) -> Side:
        rule_people, people = self.rule.people, state.people
        named_people = people.find_named(rule_people.match)
        return Side(
            state.snapshot, people, people.everybody & ~named_people if rule_people.is_complement else named_people
        )

    def _build_earlier_side(self) -> Side | None:
        return None if self.before is None else self._build_side(self.before)

    def _find_changes(self, after: Snapshot, before: Snapshot) -> tuple[frozenset[Statement], frozenset[Statement]]:
        """Return the statements that are gone, and those that are new."""
        if self.policies is None:
            removed, added = before.find_differences(after)
            return frozenset(removed), frozenset(added)
        statements = [frozenset(snapshot.list_statements_of(self.policies)) for snapshot in (before, after)]
        return statements[0] - statements[1], statements[1] - statements[0]


def list_scope_ways(scope: RuleScope) -> list[Way]:
    """Return the ways to the privileges of a scope."""
    return [way for privilege in sorted(scope.privileges) for way in list_ways(privilege)]


def _list_allows(
    scope: RuleScope, snapshot: Snapshot, policies: Collection[str] | None = None
) -> Iterator[tuple[Way, Statement]]:
    """Yield the allows that give a way to a privilege of the scope, of all policies or of these."""
    policy_statements = None if policies is None else snapshot.list_statements_of(policies)
    for way in list_scope_ways(scope):
        for statement in snapshot.list_statements(way.privilege) if policy_statements is None else policy_statements:
            if (
                statement.effect is Effect.ALLOW
                and way.privilege in statement.privileges
                and statement.origin.policy != datahub.VIEW_SELF.policy
                # An umbrella beside the privilege itself gives no more.
                and not (way.is_umbrella and way.asked_privilege in statement.privileges)
            ):
                yield way, statement


def _find_changed_people(after: Side, before: Side) -> int:
    """Return the people that are other actors than before, or were not concerned."""
    pairs = zip(after.people.actors, before.people.actors, strict=True)
    changed = sum(1 << number for number, (now, was) in enumerate(pairs) if now is not was and now != was)
    return changed | (after.concerned & ~before.concerned)


def _build_breach(use: Use, state: JudgedState) -> Breach:
    question = _name_held(use, state.snapshot)
    return Breach(
        use.statement.origin.policy,
        question.privilege,
        state.people.list_urns(use.people),
        question,
        use.way.asked_privilege,
        is_certain=True,
    )


def _name_held(use: Use, snapshot: Snapshot) -> Question:
    """Return the question of a use about the privilege by which it is given: one that implies it, if one does."""
    implying = vocabulary.load_datahub().implying_privileges(use.question.privilege) & use.statement.privileges
    questions = [use.question._replace(privilege=name) for name in sorted(implying)]
    return next((question for question in questions if decide(snapshot, question).is_allowed), use.question)


def _complete(question: Question, snapshot: Snapshot) -> Question:
    """Return the question about an entity that has no values in the other fields that a snapshot tests."""
    if question.resource is None:
        return question
    facets = {**dict.fromkeys(snapshot.all_tested_fields, frozenset[str]()), **question.resource.facets}
    return question._replace(resource=replace(question.resource, facets=facets))


def _unite(sets: Iterable[int]) -> int:
    united = 0
    for people in sets:
        united |= people
    return united
