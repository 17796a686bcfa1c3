"""What must hold beside a document before it is stored: what it binds exists, and its denies leave an administrator.

Problems are noted with their places, like those that the family itself finds in a document.
"""

from collections.abc import Container, Iterable
from typing import Any

from policies.engine.errors import Problem
from policies.engine.families import Family
from policies.engine.model import Effect, Statement
from policies.engine.selectors import CONSTANTS
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names, snapshot_store


def existing(pairs: Iterable[tuple[Family, Any]]) -> frozenset[str]:
    """Return the URNs of those things that exist, of all that these documents bind; one query for each kind."""
    bound = {urn for family, document in pairs for _, urn in family.bound(document)}
    return frozenset(display_names.names(urns=bound)) if bound else frozenset()


def unbound(*, family: Family, document: Any, known: Container[str] | None = None) -> list[Problem]:
    """Return a problem for each thing a document binds that does not exist; the document may be invalid otherwise.

    `known` is what exists of it; it is looked up when not given.
    """
    if known is None:
        known = existing([(family, document)])
    bound = family.bound(document)
    return [Problem("role.unknown", pointer, f"There is no role {urn}.") for pointer, urn in bound if urn not in known]


def locking_out(*, family: Family, statements: Iterable[Statement]) -> list[Problem]:
    """Return a problem for each statement that denies everything to the last roles that may do everything.

    Rule: `rules/datazone.md` DZ-70, the one of its hints that blocks.
    """
    drafted = [one for one in statements if is_about_everything(one, family)]
    denying = [one for one in drafted if one.effect is Effect.DENY]
    if not denying:
        return []
    everywhere = [one for one in snapshot_store.current().statements if is_about_everything(one, family)]
    allowed = _roles(everywhere + drafted, Effect.ALLOW)
    left = allowed - _roles(everywhere + drafted, Effect.DENY)
    return [
        Problem(
            "statement.locks_out",
            f"/statements/{one.origin.index}",
            "This denies everything to the last role that may do everything.",
        )
        for one in denying
        if not left and not allowed.isdisjoint(one.actors.tokens)
    ]


def is_about_everything(statement: Statement, family: Family) -> bool:
    """Whether a statement is about every privilege of its family on everything there is."""
    return (
        family.vocabulary().names <= statement.privileges
        and not statement.provisos
        and all(
            criterion.field in CONSTANTS and criterion.holds(frozenset({CONSTANTS[criterion.field]}))
            for criterion in statement.resources.criteria
        )
    )


def _roles(statements: Iterable[Statement], effect: Effect) -> frozenset[str]:
    tokens = (token for one in statements if one.effect is effect for token in one.actors.tokens)
    return frozenset(token for token in tokens if token.startswith(ROLE_PREFIX))
