"""Judgments of guardrails: what breaks one, by the policies of a snapshot, today's people and, for two kinds, entities.

*never*, *not_both* and *no_policy* are judged for every catalog (`engine.guardrails`), *always* and *at_least* on
today's.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from django.conf import settings

from policies.engine import families
from policies.engine.errors import InvalidPolicy
from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.families.validity import Phase
from policies.engine.guardrails.breaches import Breach, RuleJudge
from policies.engine.guardrails.population import Population
from policies.engine.guardrails.rules import TIMELESS_KINDS, Rule, RuleKind, RuleScope, read_rule
from policies.engine.model import Actor, Cover, Coverage, Effect, Question, Statement, StatementOrigin
from policies.engine.ports import Directory
from policies.engine.selectors import EVERYONE, Resource, is_relational
from policies.engine.snapshot import Snapshot
from policies.errors import Invalid
from policies.models import Guardrail, Policy, User
from policies.models.fields import filter_storable
from policies.pdp import actor_resolution, later_actors, users_by_actor_clause
from policies.pdp.ports import import_port

#: Users that are loaded with one statement.
_USER_BATCH_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class TodaysBreach:
    """What breaks a rule about today's catalog: who lacks a privilege, on which entity; or how many hold it.

    `missing` is how many holders are missing, of *at_least*.
    """

    privilege: str
    person: str
    question: Question | None
    missing: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Who lacks what."""
        return self.person, self.privilege


@dataclass(frozen=True, slots=True)
class Judgment:
    """What breaks a guardrail: breaches of rules about every catalog, or of rules about today's."""

    breaches: tuple[Breach, ...] = ()
    todays_breaches: tuple[TodaysBreach, ...] = ()

    @property
    def count(self) -> int:
        """How many breaches there are."""
        return len(self.breaches) + len(self.todays_breaches)

    @property
    def status(self) -> Guardrail.Status:
        """The status that follows; unknown if all that may break it is uncertain."""
        if self.todays_breaches or any(breach.is_certain for breach in self.breaches):
            return Guardrail.Status.BROKEN
        return Guardrail.Status.UNKNOWN if self.breaches else Guardrail.Status.HOLDS


@dataclass(slots=True)
class JudgedWorld:
    """Policies, and whoever is asked about: the people of today, unless `changed_actors` has them in another state.

    `changed_later` are the states in which these will be later (`later_actors`).
    """

    snapshot: Snapshot
    changed_actors: dict[str, Actor] = field(default_factory=dict)
    changed_later: Mapping[str, tuple[Actor, ...]] = field(default_factory=dict)
    _actors: dict[str, Actor] = field(default_factory=dict)
    _everybody: Population | None = None
    _populations: dict[frozenset[str], Population] = field(default_factory=dict)
    _reached: dict[frozenset[str], Population] = field(default_factory=dict)
    _later: dict[Population, list[Population]] = field(default_factory=dict)

    def load_population(self, urns: Collection[str]) -> Population:
        """Return the active ones of these users: the same population whichever guardrail asks."""
        key = frozenset(urns)
        population = self._populations.get(key)
        if population is None:
            population = self._populations[key] = Population(self.load_actors(urns))
        return population

    def load_reached(self, statements: Iterable[Statement]) -> Population:
        """Return at least the people whom these statements can reach, now or later."""
        tokens = frozenset[str]().union(*(statement.actors.tokens for statement in statements))
        if EVERYONE in tokens or any(map(is_relational, tokens)):
            return self.everybody
        if tokens not in self._reached:
            self._reached[tokens] = self._load_named(tokens)
        return self._reached[tokens]

    def _load_named(self, tokens: frozenset[str]) -> Population:
        users = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)
        urns = {*users.values_list("urn", flat=True), *later_actors.list_users_named_later(tokens=tokens)}
        present_urns = User.objects.filter(urn__in=urns, is_removed=False).values_list("urn", flat=True)
        return self.load_population(sorted(present_urns))

    def load_later(self, population: Population) -> list[Population]:
        """Return these people as they will be: in their first later state all who have one, then in their second, …"""
        if population not in self._later:
            self._later[population] = self._load_states(population)
        return self._later[population]

    def _load_states(self, population: Population) -> list[Population]:
        changed_urns = self.changed_actors.keys()
        states = later_actors.load_later_actors(
            actors=[actor for actor in population.actors if actor.urn not in changed_urns]
        )
        states |= {
            actor.urn: self.changed_later.get(actor.urn, ()) for actor in population.actors if actor.urn in changed_urns
        }
        count = max((len(actors) for actors in states.values()), default=0)
        return [
            Population(actors[number] for actors in states.values() if number < len(actors)) for number in range(count)
        ]

    @property
    def everybody(self) -> Population:
        """All active people."""
        if self._everybody is None:
            users = User.objects.filter(state=User.State.ACTIVE, is_removed=False).order_by("urn")
            urns = dict.fromkeys(users.values_list("urn", flat=True)) | dict.fromkeys(sorted(self.changed_actors))
            self._everybody = self.load_population(list(urns))
        return self._everybody

    def load_actors(self, urns: Collection[str]) -> list[Actor]:
        """Return these users as actors."""
        missing_urns = [urn for urn in urns if urn not in self._actors and urn not in self.changed_actors]
        for start in range(0, len(missing_urns), _USER_BATCH_SIZE):
            self._actors |= actor_resolution.load_actors(urns=missing_urns[start : start + _USER_BATCH_SIZE])
        return [self.changed_actors.get(urn) or self._actors[urn] for urn in urns]


@dataclass(slots=True)
class GuardrailJudge:
    """Judges one guardrail in one state of policies and people."""

    rule: Rule
    world: JudgedWorld

    def judge(self) -> Judgment:
        """Return everything that breaks it."""
        if self.rule.kind not in TIMELESS_KINDS:
            return Judgment(todays_breaches=tuple(self._find_todays_breaches()))
        return Judgment(tuple(self._find_breaches(self.world.everybody)))

    def judge_change(self, *, policies: Collection[str], is_open: bool, users: Collection[str]) -> Judgment:
        """Return the breaches through these policies, or by what these users may do.

        With `is_open` it is by whatever policy: a deny may be gone that was in the way.
        """
        if self.rule.kind not in TIMELESS_KINDS:
            return self.judge()
        breaches: list[Breach] = []
        statements = self.world.snapshot.list_statements_of(policies)
        if is_open:
            breaches += self._find_breaches(self.world.everybody)
        elif statements:
            breaches += self._find_breaches(self.world.load_reached(statements), policies)
        if users and not is_open:
            breaches += self._find_breaches(self.world.load_population(users))
        return Judgment(tuple(breaches))

    def _find_breaches(self, population: Population, policies: Collection[str] | None = None) -> list[Breach]:
        """Return the breaches by what these people may do, and those by what they will be able to do later.

        Each later state is judged by itself: what somebody never has at one time is not had both.
        """
        breaches: list[Breach] = []
        for people in (population, *self.world.load_later(population)):
            state_breaches = RuleJudge(self.rule, self.world.snapshot, people).find_breaches(policies=policies)
            breaches += [breach for breach in state_breaches if not _is_known(breach, breaches)]
        return breaches

    # -- today's catalog --------------------------------------------------------------------------------------------

    def _find_todays_breaches(self) -> Iterator[TodaysBreach]:
        (scope,) = self.rule.scopes
        if self.rule.kind is RuleKind.AT_LEAST:
            missing = self.rule.number - self._count_holders(scope.privileges)
            if missing > 0:
                yield TodaysBreach(min(scope.privileges), "", None, missing)
            return
        actors = {actor.urn: actor for actor in self.world.load_population(self._list_present_users()).actors}
        for urn in sorted(self.rule.people.match.tokens):
            actor = actors.get(urn) or Actor(urn, is_active=False)
            for privilege in sorted(scope.privileges):
                question = self._find_lacking(actor, privilege, scope)
                if question is not None:
                    yield TodaysBreach(privilege, urn, question)

    def _list_present_users(self) -> list[str]:
        users = User.objects.filter(urn__in=filter_storable(self.rule.people.match.tokens), is_removed=False)
        return list(users.values_list("urn", flat=True))

    def _count_holders(self, privileges: frozenset[str]) -> int:
        """Return how many active people hold all of these platform privileges, counted up to the number needed."""
        snapshot = self.world.snapshot
        allows = [
            statement for statement in snapshot.list_statements(min(privileges)) if statement.effect is Effect.ALLOW
        ]
        tokens = frozenset[str]().union(*(statement.actors.tokens for statement in allows))
        changed_urns = self.world.changed_actors.keys()
        changed_people = User.objects.filter(urn__in=changed_urns, kind=User.Kind.PERSON, is_removed=False)
        urns = list(changed_people.values_list("urn", flat=True)) if changed_urns else []
        rows = users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens).filter(kind=User.Kind.PERSON)
        rows = rows.exclude(urn__in=changed_urns) if changed_urns else rows
        count, last_urn = 0, ""
        while True:
            for actor in self.world.load_actors(urns):
                count += all(decide(snapshot, Question(actor, name)).is_allowed for name in privileges)
                if count >= self.rule.number:
                    return count
            urns = list(rows.filter(urn__gt=last_urn).values_list("urn", flat=True)[:_USER_BATCH_SIZE])
            if not urns:
                return count
            last_urn = urns[-1]

    def _find_lacking(self, actor: Actor, privilege: str, scope: RuleScope) -> Question | None:
        """Return a question on an entity of today that the actor is refused; None if there is none."""
        info = vocabulary.load_datahub().get(privilege)
        if info is not None and info.scope == vocabulary.PLATFORM:
            question = Question(actor, privilege)
            return None if decide(self.world.snapshot, question).is_allowed else question
        entries = _get_directory().sample_covered(
            coverage=Coverage(Actor(""), (Cover.from_resources(scope.resources),)),
            excluded=self.world.snapshot.compute_coverage(actor, privilege),
            limit=1,
        )
        return next((Question(actor, privilege, Resource(entry.urn, entry.type, {})) for entry in entries), None)


def _is_known(breach: Breach, breaches: Iterable[Breach]) -> bool:
    """Whether one of these breaches is of the same policy, and of these people or more."""
    return any(
        breach.policy == other_breach.policy and breach.people <= other_breach.people and breach.is_within(other_breach)
        for other_breach in breaches
    )


def _get_directory() -> Directory:
    """Return the directory of the system, which sees everything, whoever writes."""
    directory: Directory = import_port("Directory")(viewer=None)
    return directory


def load_rule(guardrail: Guardrail) -> Rule:
    """Return the rule of a stored guardrail. Raises Invalid for one that cannot be read any more."""
    try:
        return read_rule(guardrail.rule, custom=settings.CUSTOM_PRIVILEGES)
    except InvalidPolicy as error:
        raise Invalid(error.problems) from None


def build_unreadable(problems: Invalid) -> Breach:
    """Return the uncertain breach of a guardrail whose rule cannot be read any more: the problems are its reason."""
    reason = f"Its rule cannot be read any more: {problems.detail} Change the rule, or delete the guardrail."
    return Breach("", "", frozenset(), None, reason=reason)


def add_pending_policies(
    snapshot: Snapshot, staged_policies: Mapping[str, Policy | None] = MappingProxyType({})
) -> tuple[Snapshot, frozenset[str]]:
    """Return a snapshot in which the allows of policies that begin later count already, and the URNs of these.

    `staged_policies` count in place of the stored ones with these URNs; None for one that is gone.
    """
    pending = Policy.objects.filter(state=Policy.State.ACTIVE, phase=Phase.PENDING)
    staged_pending = [
        policy
        for policy in staged_policies.values()
        if policy is not None and policy.state == Policy.State.ACTIVE and policy.phase == Phase.PENDING
    ]
    statements_by_urn: dict[str, tuple[Statement, ...]] = {}
    for policy in [*(policy for policy in pending if policy.urn not in staged_policies), *staged_pending]:
        statements = families.get(policy.family).compile(policy.document, StatementOrigin(policy.urn, policy.name))
        allows = tuple(statement for statement in statements if statement.effect is Effect.ALLOW)
        if allows:
            statements_by_urn[policy.urn] = allows
    if not statements_by_urn:
        return snapshot, frozenset()
    return snapshot.replace(snapshot.version, statements_by_urn), frozenset(statements_by_urn)
