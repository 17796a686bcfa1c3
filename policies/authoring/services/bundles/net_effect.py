"""The effect of a plan: who would gain and lose what, what is proved, and which guardrails hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.authoring.services import net_change
from policies.authoring.services.bundles import policy_entries
from policies.authoring.services.bundles.kinds import ChangeKind, choose_changes
from policies.authoring.services.bundles.planning import BundlePlan
from policies.authoring.services.bundles.policy_entries import PolicyEntries
from policies.authoring.services.bundles.staged_guardrails import FOLDER, stage_guardrails
from policies.authoring.services.change_guardrails import GuardrailVerdict, judge_guardrails
from policies.authoring.services.change_proofs import ChangeProofs, find_change_proofs
from policies.authoring.services.net_change import NetChange
from policies.engine.model import Actor, Statement
from policies.pdp import snapshot_store
from policies.pdp.account_turns import hold_turn

#: People and privileges that a plan names, the largest first.
MAX_ITEMS = 20

_WRITTEN = (ChangeKind.CREATE, ChangeKind.CHANGE, ChangeKind.DELETE)


@dataclass(frozen=True, slots=True)
class PlanEffect:
    """What the changes would give and take today, whether they do in any catalog, and which guardrails hold."""

    change: NetChange
    proofs: ChangeProofs
    guardrails: Sequence[GuardrailVerdict]


def find_plan_effect(plan: BundlePlan, *, by: Actor, limit: int = MAX_ITEMS) -> PlanEffect | None:
    """Return the net change, proofs and guardrails; None where neither a policy nor a guardrail changes.

    `by` is who would apply the plan, `limit` the most people and privileges that each list names. Raises Busy while
    the account has another preview.
    """
    policy_changes, guardrail_changes = plan.changes[PolicyEntries.folder], plan.changes[FOLDER]
    if not choose_changes([*policy_changes, *guardrail_changes], *_WRITTEN):
        return None
    with hold_turn(by.urn):
        statements_by_urn = list_changed_statements(plan)
        before = snapshot_store.get_current()
        after = before.replace(before.version, statements_by_urn)
        change = net_change.compare_snapshots(
            before=before, after=after, policies=list(statements_by_urn), by=by, limit=limit
        )
        verdicts = judge_guardrails(
            before=before,
            after=after,
            policies=policy_entries.stage_policies(policy_changes, by=by),
            people={},
            by=by,
            guardrails=stage_guardrails(guardrail_changes),
        )
        return PlanEffect(change, find_change_proofs(before, after, by=by), verdicts)


def list_changed_statements(plan: BundlePlan) -> Mapping[str, tuple[Statement, ...]]:
    """Return policy → the statements that count after the plan, of each that it writes; none of one that goes."""
    return {
        change.key: () if change.entry is None else policy_entries.compile_entry(change.entry)
        for change in choose_changes(plan.changes[PolicyEntries.folder], *_WRITTEN)
    }
