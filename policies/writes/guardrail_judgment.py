"""Judgments of guardrails: what breaks one, by policies, people and, for two kinds, the entities of today.

*never*, *not_both* and *no_policy* are judged for every catalog (`engine.guardrails`), *always* and *at_least* on
today's (`promises`); all of them now, and at every later boundary of policies and people that is known today.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import thread_time

from django.conf import settings

from policies.engine.errors import InvalidPolicy
from policies.engine.guardrails.breaches import Breach, RuleJudge
from policies.engine.guardrails.judged_state import JudgedState
from policies.engine.guardrails.rules import TIMELESS_KINDS, Rule, RuleKind, read_rule
from policies.engine.model import Effect, Statement
from policies.engine.proofs.population import Population
from policies.errors import Invalid
from policies.models import Guardrail
from policies.models.people import USER_PREFIX
from policies.writes.guardrail_worlds import JudgedWorld, Period, list_pairs, list_periods
from policies.writes.promises import PromiseJudge, TodaysBreach

#: Seconds of work for the proofs of a write about one guardrail, and for the judgment of all policies.
_WRITE_SECONDS, _JUDGMENT_SECONDS = 2.0, 20.0


@dataclass(frozen=True, slots=True)
class Judgment:
    """The breaches of a guardrail: of rules about every catalog, or of rules about today's."""

    breaches: tuple[Breach, ...] = ()
    todays_breaches: tuple[TodaysBreach, ...] = ()

    @property
    def count(self) -> int:
        """How many breaches there are."""
        return len(self.breaches) + len(self.todays_breaches)

    @property
    def status(self) -> Guardrail.Status:
        """The status that follows; unknown if all that may break it is uncertain. A promise holds until then."""
        is_broken_now = any(breach.at is None for breach in self.todays_breaches)
        if is_broken_now or any(breach.is_certain for breach in self.breaches):
            return Guardrail.Status.BROKEN
        return Guardrail.Status.UNKNOWN if self.breaches else Guardrail.Status.HOLDS


@dataclass(slots=True)
class GuardrailJudge:
    """Judges one guardrail in one state of policies and people, with what is known of later."""

    rule: Rule
    world: JudgedWorld

    def judge(self, *, policies: Collection[str] | None = None) -> Judgment:
        """Return everything that breaks it, or what does through these policies."""
        if self.rule.kind not in TIMELESS_KINDS:
            return Judgment(todays_breaches=tuple(PromiseJudge(self.rule, self.world).find_breaches()))
        is_over, breaches = _limit_time(_JUDGMENT_SECONDS), list[Breach]()
        privileges = self.rule.counted_privileges
        urns = list(dict.fromkeys([*self.world.everybody, *_list_named_users(self.rule)]))
        for period in list_periods([self.world], privileges):
            pairs = list_pairs(self.world, self.world, urns, period)
            state = JudgedState(self.world.find_snapshot(period.begins), Population(pair.now for pair in pairs))
            period_breaches = RuleJudge(self.rule, state, is_over).find_breaches(policies=policies)
            breaches += [breach for breach in period_breaches if not _is_known(breach, breaches)]
        return Judgment(tuple(breaches))


@dataclass(frozen=True, slots=True)
class GuardedChange:
    """The world before and after a write, the policies that it changed, and the users that it may have changed."""

    before: JudgedWorld
    after: JudgedWorld
    policies: frozenset[str]
    users: frozenset[str]

    def find_added_breach(self, guardrail: Guardrail) -> Breach | TodaysBreach | None:
        """Return something that breaks the guardrail after the write and did not before it; None if nothing does."""
        try:
            rule = load_rule(guardrail)
        except Invalid as problems:
            return build_unreadable(problems)
        if rule.kind not in TIMELESS_KINDS:
            return self._find_broken_promise(rule)
        is_over = _limit_time(_WRITE_SECONDS)
        # Where a rule holds, nobody new may break it; where what all users have breaks it, accounts can still be made.
        before = self.before.leave_out_newcomers() if guardrail.status == Guardrail.Status.HOLDS else self.before
        for period in list_periods([before, self.after], rule.counted_privileges):
            breach = self._find_added_in(rule, before, period, is_over)
            if breach is not None:
                return breach
        return None

    def _find_added_in(
        self, rule: Rule, earlier_world: JudgedWorld, period: Period, is_over: Callable[[], bool]
    ) -> Breach | None:
        """Return a breach that the write adds in one period."""
        snapshots = [world.find_snapshot(period.begins) for world in (earlier_world, self.after)]
        earlier, later = (
            [statement for statement in snapshot.list_statements_of(self.policies) if _is_touching(statement, rule)]
            for snapshot in snapshots
        )
        added = [statement for statement in later if statement.effect is Effect.ALLOW and statement not in earlier]
        removed = [statement for statement in earlier if statement.effect is Effect.DENY and statement not in later]
        changed = self.after.list_reached([*added, *removed]) if added or removed else []
        if not (changed or self.users or added):
            return None
        urns = sorted({*changed, *self.users, *_list_named_users(rule)})
        pairs = list(list_pairs(earlier_world, self.after, urns, period))
        before, after = (
            JudgedState(snapshot, Population(actors))
            for snapshot, actors in zip(
                snapshots, ([pair.was for pair in pairs], [pair.now for pair in pairs]), strict=True
            )
        )
        return RuleJudge(rule, after, is_over, before, self.policies).find_added()

    def _find_broken_promise(self, rule: Rule) -> TodaysBreach | None:
        snapshots = (self.before.snapshot, self.after.snapshot)
        statements = [item for snapshot in snapshots for item in snapshot.list_statements_of(self.policies)]
        statements += [
            item
            for world in (self.before, self.after)
            for urn in self.policies & world.timed_policies.keys()
            for item in world.timed_policies[urn].statements
        ]
        if not self.users and not any(_is_touching(statement, rule) for statement in statements):
            return None
        return PromiseJudge(rule, self.after, self.before).find_added()


def _is_touching(statement: Statement, rule: Rule) -> bool:
    return not statement.privileges.isdisjoint(rule.counted_privileges)


def _list_named_users(rule: Rule) -> list[str]:
    """Return the users whom *no policy* names: a policy may speak to them, unless they are suspended or gone."""
    if rule.kind is not RuleKind.NO_POLICY or rule.people.is_complement:
        return []
    return sorted(token for token in rule.people.match.tokens if token.startswith(USER_PREFIX))


def _is_known(breach: Breach, breaches: Collection[Breach]) -> bool:
    """Whether one of these breaches is of the same policy and privilege, and of these people or more."""
    return any(
        (breach.policy, breach.asked_privilege, breach.is_certain)
        == (other.policy, other.asked_privilege, other.is_certain)
        and breach.people <= other.people
        for other in breaches
    )


def _limit_time(seconds: float) -> Callable[[], bool]:
    """Return the test whether this thread has worked so long: a machine that others load makes no verdict unknown."""
    end = thread_time() + seconds
    return lambda: thread_time() > end


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
