"""The effect of a plan: who would gain and lose what, and what is proved, as `POST /api/v1/preview` says it."""

from dataclasses import dataclass

from django.utils import timezone

from policies.authoring.services import net_change
from policies.authoring.services.bundles.kinds import BundleChange, ChangeKind
from policies.authoring.services.bundles.planning import BundlePlan
from policies.authoring.services.bundles.policy_entries import PolicyEntries
from policies.authoring.services.change_proofs import ChangeProofs, find_change_proofs
from policies.authoring.services.net_change import NetChange
from policies.engine import families
from policies.engine.families.validity import Phase, Validity
from policies.engine.model import Statement, StatementOrigin
from policies.models import Policy
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
        change.key: _compile(change)
        for change in plan.changes[PolicyEntries.folder]
        if change.action in (ChangeKind.CREATE, ChangeKind.CHANGE, ChangeKind.DELETE)
    }
    if not statements_by_urn:
        return None
    before = snapshot_store.get_current()
    after = before.replace(before.version, statements_by_urn)
    change = net_change.compare_snapshots(before=before, after=after, policies=list(statements_by_urn), limit=limit)
    return PlanEffect(change, find_change_proofs(before, after))


def _compile(change: BundleChange) -> tuple[Statement, ...]:
    """Return the statements that count after a change: none of a policy that is gone, inactive, or out of its time."""
    if change.entry is None:
        return ()
    draft = change.entry.draft.draft
    family = families.get(draft.family)
    columns = family.column_values(draft.document)
    validity = draft.validity or Validity(columns.get("valid_from"), columns.get("valid_until"))
    is_active = columns.get("state", draft.state) in (None, Policy.State.ACTIVE)
    if not is_active or validity.find_phase(timezone.now()) != Phase.CURRENT:
        return ()
    return family.compile(draft.document, StatementOrigin(change.key, change.name))
