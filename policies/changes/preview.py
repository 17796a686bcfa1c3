"""Preview of changes: what several changes, taken as one, would give and take (api-next.md section 2).

Nothing is stored; a preview needs what the changes need (`staging`), and tells its caller of others no more than it may
learn anyway (`PreviewDisclosure`). An account has one at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policies.changes.comparison import EffectQuestion
from policies.changes.guardrail_verdicts import GuardrailVerdict, judge_guardrails
from policies.changes.kinds import Change
from policies.changes.net_change import NetChange, find_net_change
from policies.changes.proofs import ChangeProofs, find_change_proofs
from policies.changes.replay import Replay, replay_log
from policies.changes.staging import stage_changes
from policies.changes.worlds import ChangedWorld
from policies.engine.model import Actor
from policies.models import Policy
from policies.pdp.account_turns import hold_turn

#: Report that computes what is too large here.
REPORT_KIND = "policy_impact"


@dataclass(frozen=True, slots=True)
class Preview:
    """The net change, and the report that would find it exactly, with its parameters, where there is one.

    `proofs`, `guardrails` and `replay` are there if they were asked for.
    """

    change: NetChange
    report: Mapping[str, Any] | None = None
    proofs: ChangeProofs | None = None
    guardrails: Sequence[GuardrailVerdict] = ()
    replay: Replay | None = None


@dataclass(frozen=True, slots=True)
class ChangeVerdicts:
    """Proofs of changes, verdicts of guardrails on them, and the replay, if it was asked for."""

    proofs: ChangeProofs
    guardrails: Sequence[GuardrailVerdict]
    replay: Replay | None


def preview_changes(
    *,
    changes: Sequence[Change],
    by: Actor,
    question: EffectQuestion,
    is_proved: bool = False,
    is_guarded: bool = False,
    replay_days: int | None = None,
) -> Preview:
    """Return the net change of these changes together, and what is asked for beside it.

    With `is_proved` also whether they do in any catalog; changes of people are not proved. With `is_guarded` also which
    guardrails they would break, with `replay_days` which requests of these days they would answer differently. Raises
    Forbidden, Invalid with every problem of every change, each with its place, and Busy while the account has another
    preview.
    """
    with hold_turn(by.urn):
        world = stage_changes(changes=changes, by=by)
        net_change = find_net_change(world, question)
        has_report = world.is_provable and not net_change.is_exact and not question.is_sampled
        return Preview(
            net_change,
            _describe_report(world.policies) if has_report else None,
            find_change_proofs(world) if is_proved else None,
            judge_guardrails(world) if is_guarded else (),
            _replay(world, question, replay_days),
        )


def find_verdicts(
    *, changes: Sequence[Change], by: Actor, replay_days: int | None = None, limit: int
) -> ChangeVerdicts:
    """Return what is said of changes beside who gains and loses. Raises as `preview_changes`."""
    with hold_turn(by.urn):
        world = stage_changes(changes=changes, by=by)
        return ChangeVerdicts(
            find_change_proofs(world), judge_guardrails(world), _replay(world, EffectQuestion(limit), replay_days)
        )


def _replay(world: ChangedWorld, question: EffectQuestion, days: int | None) -> Replay | None:
    if days is None:
        return None
    return replay_log(world, days=days, privileges=question.privileges, limit=question.limit)


def _describe_report(policies: Mapping[str, Policy | None]) -> dict[str, Any]:
    """Return the report that finds the net change of these policies, however large it is."""
    proposed = [
        {"urn": policy.urn, "family": policy.family, **policy.build_snapshot()}
        for policy in policies.values()
        if policy is not None
    ]
    removed = [urn for urn, policy in policies.items() if policy is None]
    return {"kind": REPORT_KIND, "parameters": {"proposed": proposed, "removed": removed}}
