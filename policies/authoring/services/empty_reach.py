"""Whether an active policy reaches nobody, or nothing, of what there is today: an editor asks before it saves one."""

from collections.abc import Sequence

from policies.authoring.services import policy_drafts
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import families
from policies.engine.model import Cover, Coverage, Statement, StatementOrigin
from policies.engine.selectors import CREATION, YES, is_relational
from policies.models import Policy
from policies.pdp import authorizer, users_by_actor_clause

NOBODY = "It is for nobody there is today: it names no active user, no group that has one, and no role that one holds."
NOTHING = "It covers nothing that is there today."
NO_PRIVILEGES = "It gives and denies no privilege."


def describe_empty_reach(draft: PolicyInput) -> list[str]:
    """Return a sentence for each way in which a valid draft reaches nobody or nothing; none if it is not active."""
    columns = policy_drafts.validate_columns(draft)
    if columns["state"] != Policy.State.ACTIVE:
        return []
    family = families.get(draft.family)
    statements = family.compile(family.as_active(columns["document"]), StatementOrigin("", ""))
    return [
        sentence
        for sentence, is_empty in (
            (NOBODY, _reaches_nobody(statements)),
            (NO_PRIVILEGES, not any(statement.privileges for statement in statements)),
            (NOTHING, _covers_nothing(statements)),
        )
        if is_empty
    ]


def _reaches_nobody(statements: Sequence[Statement]) -> bool:
    """Whether no active user is named; whoever owns something may come to do so at any time."""
    tokens = frozenset[str]().union(
        *(statement.actors.tokens - statement.actors.excluded_tokens for statement in statements)
    )
    if any(map(is_relational, tokens)):
        return False
    return not users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens).exists()


def _covers_nothing(statements: Sequence[Statement]) -> bool:
    """Whether all statements are about certain entities, and none of these is there; creating is about none."""
    if any(not statement.resources.criteria or _is_about_creation(statement) for statement in statements):
        return False
    covers = tuple(Cover.from_resources(statement.resources) for statement in statements)
    page = authorizer.directory().list_covered(
        coverage=Coverage(actor=authorizer.SYSTEM, allows=covers),
        viewer=None,
        text="",
        types=(),
        start=0,
        limit=1,
        max_count=1,
    )
    return not page.rows


def _is_about_creation(statement: Statement) -> bool:
    return any(item.field == CREATION and YES in item.values for item in statement.resources.criteria)
