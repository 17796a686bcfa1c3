"""The decision of a draft if it were stored now: nothing unless it is active and within its time."""

from collections.abc import Collection

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import families
from policies.engine.families.validity import UNLIMITED, Phase, Validity
from policies.engine.model import Statement, StatementOrigin
from policies.models import Policy
from policies.pdp import database_clock


def is_in_force(draft: PolicyInput, stored_validity: Validity = UNLIMITED) -> bool:
    """Whether a checked draft would count now; `stored_validity` is what a draft without times of its own keeps."""
    columns = families.get(draft.family).column_values(draft.document)
    validity = stored_validity if draft.validity is None else draft.validity
    if "valid_from" in columns:
        validity = Validity(columns["valid_from"], columns["valid_until"])
    is_active = columns.get("state", draft.state) in (None, Policy.State.ACTIVE)
    return is_active and validity.find_phase(database_clock.get_estimated_now()) is Phase.CURRENT


def compile_in_force(
    draft: PolicyInput, origin: StatementOrigin, stored_validity: Validity = UNLIMITED
) -> tuple[Statement, ...]:
    """Return the statements of a checked draft that would count now, as `is_in_force` says."""
    return families.get(draft.family).compile(draft.document, origin) if is_in_force(draft, stored_validity) else ()


def load_validity(urns: Collection[str]) -> dict[str, Validity]:
    """Return the stored validity of these policies by URN; those that are not stored are left out. One query."""
    return {policy.urn: policy.validity for policy in policy_queries.find_policies(urns=urns)}
