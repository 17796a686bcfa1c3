"""The effect of a plan: who would gain and lose what, what is proved, and which guardrails hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from policies.authoring.services.bundles import policy_entries
from policies.authoring.services.bundles.guardrail_files import FOLDER, stage_guardrails
from policies.authoring.services.bundles.kinds import ChangeKind, choose_changes
from policies.authoring.services.bundles.planning import BundlePlan
from policies.authoring.services.bundles.policy_entries import PolicyEntries
from policies.changes.comparison import EffectQuestion
from policies.changes.guardrail_verdicts import GuardrailVerdict, judge_guardrails
from policies.changes.net_change import NetChange, find_net_change
from policies.changes.proofs import ChangeProofs, find_change_proofs
from policies.changes.worlds import StagedWorld
from policies.engine.model import Actor, Statement
from policies.pdp.account_turns import hold_turn

#: People and privileges that a plan names, the largest first.
MAX_ITEMS = 20

_WRITTEN = (ChangeKind.CREATE, ChangeKind.CHANGE, ChangeKind.DELETE)


@dataclass(frozen=True, slots=True)
class PlanEffect:
    """The effect of the changes today, whether they have one in any catalog, and which guardrails hold."""

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
        world = StagedWorld(by)
        policy_entries.stage_policies(policy_changes, world)
        changed_world = world.finish()
        return PlanEffect(
            find_net_change(changed_world, EffectQuestion(limit)),
            find_change_proofs(changed_world),
            judge_guardrails(changed_world, guardrails=stage_guardrails(guardrail_changes)),
        )


def list_changed_statements(plan: BundlePlan) -> Mapping[str, tuple[Statement, ...]]:
    """Return policy → the statements that count after the plan, of each that it writes; none of one that goes."""
    return {
        change.key: () if change.entry is None else policy_entries.compile_entry(change.entry)
        for change in choose_changes(plan.changes[PolicyEntries.folder], *_WRITTEN)
    }
