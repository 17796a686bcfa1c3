"""The net effect of importing a file: who would gain and lose what by all of its policies together."""

from policies.authoring.services import draft_statements
from policies.authoring.services.import_export import ImportPlan
from policies.authoring.services.policies import generate_urn
from policies.changes.comparison import EffectQuestion
from policies.changes.net_change import NetChange, find_net_change
from policies.changes.worlds import build_policy_world
from policies.engine.families.validity import UNLIMITED
from policies.engine.model import Actor, StatementOrigin
from policies.pdp.account_turns import hold_turn


def find_import_effect(plan: ImportPlan, *, by: Actor, limit: int) -> NetChange:
    """Return the net change of the import, naming at most `limit` items of each kind; nothing is stored.

    Raises Busy while the account has another preview.
    """
    changed = {item.urn or generate_urn(): item for item in plan.policies if not item.is_same}
    stored_validity = draft_statements.load_validity(
        [urn for urn, item in changed.items() if item.version is not None and item.draft.validity is None]
    )
    statements_by_urn = {
        urn: draft_statements.compile_in_force(
            item.draft, StatementOrigin(urn, item.name), stored_validity.get(urn, UNLIMITED)
        )
        for urn, item in changed.items()
    }
    with hold_turn(by.urn):
        return find_net_change(build_policy_world(statements_by_urn, by=by), EffectQuestion(limit))
