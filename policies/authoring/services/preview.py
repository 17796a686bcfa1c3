"""Preview of changes: what several changes, taken as one, would give and take (api-next.md section 2).

Nothing is stored; a preview needs what the changes need (`staged_changes`), and tells its caller of others no more than
it may learn anyway (`PreviewDisclosure`). An account has one at a time.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.authoring.services import net_change, policy_storage
from policies.authoring.services.change_guardrails import GuardrailVerdict
from policies.authoring.services.change_proofs import ChangeProofs
from policies.authoring.services.net_change import NetChange
from policies.authoring.services.proposed_changes import Change
from policies.authoring.services.replay import Replay
from policies.authoring.services.staged_changes import stage_changes
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
    privileges: Collection[str] | None = None,
    limit: int,
    is_proved: bool = False,
    is_guarded: bool = False,
    replay_days: int | None = None,
    is_sampled: bool = False,
) -> Preview:
    """Return the net change of these changes together, of `privileges` only, if given, and what is asked for beside it.

    With `is_proved` also whether they do in any catalog; changes of people are not proved. With `is_guarded` also which
    guardrails they would break, with `replay_days` which requests of these days they would answer differently. With
    `is_sampled` only the first entities and people are looked at (`NetChange.is_exact` says if these are all). Raises
    Forbidden, Invalid with every problem of every change, each with its place, and Busy while the account has another
    preview.
    """
    with hold_turn(by.urn):
        staged = stage_changes(changes=changes, by=by)
        change_found = net_change.compare_snapshots(
            before=staged.before,
            after=staged.after,
            policies=list(staged.policies),
            by=by,
            people=staged.people,
            facts=staged.facts,
            grants=staged.grants,
            privileges=privileges,
            limit=limit,
            is_sampled=is_sampled,
        )
        if not staged.has_everybody:
            change_found = replace(change_found, is_exact=False)
        has_report = staged.is_about_policies and not change_found.is_exact and not is_sampled
        return Preview(
            change_found,
            _describe_report(staged.policies) if has_report else None,
            staged.prove() if is_proved else None,
            staged.judge() if is_guarded else (),
            staged.replay(days=replay_days, privileges=privileges, limit=limit) if replay_days is not None else None,
        )


def find_verdicts(
    *, changes: Sequence[Change], by: Actor, replay_days: int | None = None, limit: int
) -> ChangeVerdicts:
    """Return what is said of changes beside who gains and loses. Raises as `preview_changes`."""
    with hold_turn(by.urn):
        staged = stage_changes(changes=changes, by=by)
        replay = None if replay_days is None else staged.replay(days=replay_days, limit=limit)
        return ChangeVerdicts(staged.prove(), staged.judge(), replay)


def _describe_report(policies: Mapping[str, Policy | None]) -> dict[str, Any]:
    """Return the report that finds the net change of these policies, however large it is."""
    proposed = [
        {"urn": policy.urn, "family": policy.family, **policy_storage.policy_snapshot(policy)}
        for policy in policies.values()
        if policy is not None
    ]
    removed = [urn for urn, policy in policies.items() if policy is None]
    return {"kind": REPORT_KIND, "parameters": {"proposed": proposed, "removed": removed}}
