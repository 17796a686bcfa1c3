"""Guardrails in the light of a change: which hold after it, and which it would break, by what judges writes.

Nothing is written. Rules about today's catalog are judged on the facts of today; where the change is of facts, too, it
is unknown whether those hold. No guardrail holds up facts.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from django.conf import settings

from policies.changes.worlds import ChangedWorld
from policies.engine.guardrails.breaches import Breach
from policies.engine.guardrails.rules import RuleKind
from policies.engine.guardrails.sentences import describe_rule, list_rule_urns
from policies.engine.model import Actor
from policies.engine.proofs.verdicts import describe_question
from policies.models import Guardrail, Policy
from policies.models.guardrail import LOCKOUT_URN
from policies.pdp import later_actors
from policies.writes import admin_lockout
from policies.writes.guardrail_judgment import GuardedChange, GuardrailJudge, Judgment, load_rule
from policies.writes.guardrail_worlds import JudgedWorld, load_timed_policies
from policies.writes.preview_disclosure import PreviewDisclosure
from policies.writes.promises import TodaysBreach

_Example = Mapping[str, object] | None


class GuardrailVerdict(NamedTuple):
    """Whether a guardrail holds after a change, and whether the change adds to what breaks it (`is_added`).

    A change that adds is refused, in the mode `enforce`. `breaks_at` is the later time at which it breaks, as breaches
    have it; None: at once, or never as far as is known.
    """

    urn: str
    name: str
    mode: str
    sentence: str
    verdict: Guardrail.Status
    is_added: bool
    example: _Example
    breaks_at: str | None


class _Finding(NamedTuple):
    verdict: Guardrail.Status
    is_added: bool = False
    example: _Example = None
    breaks_at: str | None = None


def judge_guardrails(world: ChangedWorld, *, guardrails: Iterable[Guardrail] | None = None) -> list[GuardrailVerdict]:
    """Return the verdict on each guardrail that is not off, by URN.

    An author who does not manage guardrails learns only of those to which the changes add, and of these what a refusal
    of them would tell. `guardrails` are those that are in force after them, if not the stored ones.
    """
    if not settings.AUTH_POLICIES_ENABLED:
        return []
    guardrails_after = sorted(Guardrail.objects.all() if guardrails is None else guardrails, key=attrgetter("urn"))
    judged_guardrails = [guardrail for guardrail in guardrails_after if guardrail.mode != Guardrail.Mode.OFF]
    actors_before = {urn: changed.was for urn, changed in world.people.items()}
    actors_after = {urn: changed.now for urn, changed in world.people.items()}
    later_before = later_actors.load_later_states(actors=actors_before.values())
    change = GuardedChange(
        JudgedWorld(world.before, load_timed_policies(), actors_before, later_before),
        JudgedWorld(
            world.after, load_timed_policies(world.policies), actors_after, world.build_later_states(later_before)
        ),
        frozenset(world.policy_urns),
        frozenset(world.people),
    )
    findings = [
        _judge_lockout(world.policies, actors_after)
        if guardrail.urn == LOCKOUT_URN
        else _judge(guardrail, change, has_fact_changes=world.facts.has_changes)
        for guardrail in judged_guardrails
    ]
    return _build_verdicts(zip(judged_guardrails, findings, strict=True), world.by)


def _judge(guardrail: Guardrail, change: GuardedChange, *, has_fact_changes: bool) -> _Finding:
    breach = change.find_added_breach(guardrail)
    if breach is not None:
        is_certain = isinstance(breach, TodaysBreach) or breach.is_certain
        verdict = Guardrail.Status.BROKEN if is_certain else Guardrail.Status.UNKNOWN
        return _Finding(verdict, is_added=True, example=_describe_breach(breach), breaks_at=_find_time([breach]))
    if has_fact_changes and load_rule(guardrail).kind is RuleKind.ALWAYS:
        return _Finding(Guardrail.Status.UNKNOWN)
    if guardrail.status == Guardrail.Status.HOLDS and guardrail.breaks_at is None:
        return _Finding(Guardrail.Status.HOLDS)
    # What broke it already, or was going to, may be gone after the change.
    judgment = GuardrailJudge(load_rule(guardrail), change.after).judge()
    is_later = judgment.status is Guardrail.Status.HOLDS
    breaks_at = _find_time(judgment.todays_breaches) if is_later else None
    return _Finding(judgment.status, example=_find_example(judgment), breaks_at=breaks_at)


def _judge_lockout(policies: Mapping[str, Policy | None], actors: Mapping[str, Actor]) -> _Finding:
    """Return the finding on the built-in guardrail, by what refuses writes that break it."""
    after = admin_lockout.find_management(policies, actors)
    if after.lasts is admin_lockout.Manageability.LASTING:
        return _Finding(Guardrail.Status.HOLDS)
    before = admin_lockout.find_management()
    is_added = after.lasts < before.lasts
    verdict = Guardrail.Status.HOLDS if after.lasts and not is_added else Guardrail.Status.BROKEN
    example = admin_lockout.describe_manager(after if after.lasts else before) if is_added else None
    return _Finding(verdict, is_added=is_added, example=example)


def _find_example(judgment: Judgment) -> _Example:
    breaches: Sequence[Breach | TodaysBreach] = (*judgment.breaches, *judgment.todays_breaches)
    return next((example for breach in breaches if (example := _describe_breach(breach)) is not None), None)


def _find_time(breaches: Iterable[Breach | TodaysBreach]) -> str | None:
    """Return the first of the later times at which these break a guardrail; None if there is none."""
    times = [breach.at for breach in breaches if isinstance(breach, TodaysBreach) and breach.at is not None]
    return min(times).isoformat() if times else None


def _describe_breach(breach: Breach | TodaysBreach) -> _Example:
    return None if breach.question is None else describe_question(breach.question)


def _build_verdicts(findings: Iterable[tuple[Guardrail, _Finding]], by: Actor) -> list[GuardrailVerdict]:
    """Return the verdicts that this person may learn: those that trying the change would tell, too."""
    disclosure = PreviewDisclosure.load(by)
    rows = [row for row in findings if disclosure.tells_guardrails or row[1].is_added]
    names = disclosure.load_names(frozenset[str]().union(*(list_rule_urns(guardrail.rule) for guardrail, _ in rows)))
    return [
        GuardrailVerdict(
            guardrail.urn,
            guardrail.name,
            guardrail.mode,
            describe_rule(guardrail.rule, names),
            finding.verdict,
            finding.is_added,
            disclosure.redact_example(finding.example),
            finding.breaks_at,
        )
        for guardrail, finding in rows
    ]
