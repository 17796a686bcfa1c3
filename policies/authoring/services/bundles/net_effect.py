"""The effect of a plan: who would gain and lose what, and what is proved, as `POST /api/v1/preview` says it."""

from dataclasses import dataclass

from policies.authoring.services import net_change
from policies.authoring.services.bundles import policy_entries
from policies.authoring.services.bundles.kinds import ChangeKind
from policies.authoring.services.bundles.planning import BundlePlan
from policies.authoring.services.bundles.policy_entries import PolicyEntries
from policies.authoring.services.change_proofs import ChangeProofs, find_change_proofs
from policies.authoring.services.net_change import NetChange
from policies.pdp import snapshot_store

#: People and privileges that a plan names, the largest first.
MAX_ITEMS = 20


@dataclass(frozen=True, slots=True)
class PlanEffect:
    """What the changes of policies together would give and take today, and whether they do in any catalog."""

    change: NetChange
    proofs: ChangeProofs


def find_plan_effect(plan: BundlePlan, *, limit: int = MAX_ITEMS) -> PlanEffect | None:
    """Return what the changes of policies would do; None where no policy changes."""
    statements_by_urn = {
        change.key: () if change.entry is None else policy_entries.compile_entry(change.entry)
        for change in plan.changes[PolicyEntries.folder]
        if change.action in (ChangeKind.CREATE, ChangeKind.CHANGE, ChangeKind.DELETE)
    }
    if not statements_by_urn:
        return None
    before = snapshot_store.get_current()
    after = before.replace(before.version, statements_by_urn)
    change = net_change.compare_snapshots(before=before, after=after, policies=list(statements_by_urn), limit=limit)
    return PlanEffect(change, find_change_proofs(before, after))
