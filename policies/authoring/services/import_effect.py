"""The net effect of importing a file: who would gain and lose what by all of its policies together."""

from django.utils import timezone

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import net_change
from policies.authoring.services.import_export import ImportPlan, PlannedPolicy
from policies.authoring.services.net_change import NetChange
from policies.authoring.services.policies import generate_urn
from policies.engine import families
from policies.engine.families.validity import UNLIMITED, Phase, Validity
from policies.engine.model import Statement, StatementOrigin
from policies.models import Policy
from policies.pdp import snapshot_store


def find_import_effect(plan: ImportPlan, *, limit: int) -> NetChange:
    """Return what the import would give and take, naming at most `limit` items of each kind; nothing is stored."""
    changed = {item.urn or generate_urn(): item for item in plan.policies if not item.is_same}
    stored_validity = _load_validity(
        [urn for urn, item in changed.items() if item.version is not None and item.draft.validity is None]
    )
    statements_by_urn = {urn: _compile(urn, item, stored_validity.get(urn, UNLIMITED)) for urn, item in changed.items()}
    before = snapshot_store.get_current()
    after = before.replace(before.version, statements_by_urn)
    return net_change.compare_snapshots(before=before, after=after, policies=list(statements_by_urn), limit=limit)


def _load_validity(urns: list[str]) -> dict[str, Validity]:
    return {policy.urn: policy.validity for policy in policy_queries.find_policies(urns=urns)}


def _compile(urn: str, item: PlannedPolicy, stored_validity: Validity) -> tuple[Statement, ...]:
    """Return the statements that would count: none of a policy that would be inactive, or out of its time."""
    draft = item.draft
    family = families.get(draft.family)
    columns = family.column_values(draft.document)
    validity = draft.validity or stored_validity
    if "valid_from" in columns:
        validity = Validity(columns["valid_from"], columns["valid_until"])
    is_active = columns.get("state", draft.state) in (None, Policy.State.ACTIVE)
    if not is_active or validity.find_phase(timezone.now()) is not Phase.CURRENT:
        return ()
    return family.compile(draft.document, StatementOrigin(urn, item.name))
