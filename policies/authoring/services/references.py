"""Checks of a document against the database before it is stored: required URNs exist, and an administrator remains.

Problems have JSON pointers, like those that the family itself finds in a document.
"""

from collections.abc import Container, Iterable
from typing import Any

from policies.engine.errors import Problem
from policies.engine.families import PolicyFamily
from policies.engine.model import Effect, Statement
from policies.engine.selectors import CONSTANT_FACETS
from policies.models.roles import ROLE_PREFIX
from policies.pdp import display_names, snapshot_store


def find_existing(pairs: Iterable[tuple[PolicyFamily, Any]]) -> frozenset[str]:
    """Return the existing ones of all URNs that these documents require; one query for each kind."""
    referenced_urns = {urn for family, document in pairs for _, urn in family.required_urns(document)}
    return frozenset(display_names.load_names(urns=referenced_urns)) if referenced_urns else frozenset()


def find_missing(*, family: PolicyFamily, document: Any, existing_urns: Container[str] | None = None) -> list[Problem]:
    """Return a problem for each required URN that does not exist; the document may be invalid otherwise.

    `existing_urns` are the existing ones; None: they are looked up.
    """
    if existing_urns is None:
        existing_urns = find_existing([(family, document)])
    references = family.required_urns(document)
    return [
        Problem("role.unknown", pointer, f"There is no role {urn}.")
        for pointer, urn in references
        if urn not in existing_urns
    ]


class AnyUrn:
    """All URNs there could be: what names them is judged by itself, and not by what is stored."""

    def __contains__(self, urn: object) -> bool:
        return True


ANY_URN = AnyUrn()


def find_lockouts(*, family: PolicyFamily, statements: Iterable[Statement]) -> list[Problem]:
    """Return a problem for each statement that denies everything to the last roles that are allowed everything.

    Rule: `rules/datazone.md` DZ-70, its only hint that blocks. A deny that excepts people locks no role out.
    """
    broad_statements = [statement for statement in statements if is_about_everything(statement, family)]
    denies = [item for item in broad_statements if item.effect is Effect.DENY and not item.actors.excluded_tokens]
    if not denies:
        return []
    current_statements = [
        statement for statement in snapshot_store.get_current().statements if is_about_everything(statement, family)
    ]
    allowed_roles = _role_tokens(current_statements + broad_statements, Effect.ALLOW)
    remaining_roles = allowed_roles - _role_tokens(current_statements + broad_statements, Effect.DENY)
    return [
        Problem(
            "statement.locks_out",
            f"/statements/{statement.origin.index}",
            "This denies everything to the last role that may do everything.",
        )
        for statement in denies
        if not remaining_roles and not allowed_roles.isdisjoint(statement.actors.tokens)
    ]


def is_about_everything(statement: Statement, family: PolicyFamily) -> bool:
    """Whether a statement matches every privilege of its family on every resource."""
    return (
        family.load_vocabulary().names <= statement.privileges
        and not statement.actor_conditions
        and all(
            criterion.field in CONSTANT_FACETS and criterion.holds(frozenset({CONSTANT_FACETS[criterion.field]}))
            for criterion in statement.resources.criteria
        )
    )


def _role_tokens(statements: Iterable[Statement], effect: Effect) -> frozenset[str]:
    clauses = (item.actors for item in statements if item.effect is effect and not item.actors.excluded_tokens)
    return frozenset(token for clause in clauses for token in clause.tokens if token.startswith(ROLE_PREFIX))
