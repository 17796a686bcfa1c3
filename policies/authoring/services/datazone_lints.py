"""Lints of a valid Datazone policy (rules/datazone.md DZ-43, DZ-70).

A statement is compared with the others of its document and with those of all other active Datazone policies.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from policies.engine.errors import Problem
from policies.engine.families.datazone_resource_patterns import (
    PatternScope,
    ResourcePattern,
    expand,
    parse_pattern,
    unversioned_types,
)
from policies.engine.model import Effect
from policies.engine.selectors import MAIN_BRANCH
from policies.models import Policy
from policies.pdp import active_policies, users_by_actor_clause
from policies.pdp.ports import facet_source

#: An unrestricted allow of other roles is reported from this share of restricted people who hold such a role, too.
MIN_LIFTED_SHARE = 0.5

#: Most pairs of statements that are compared for one document, and the pairs that one statement costs by itself:
#: the holders of its roles are looked up in the database.
MAX_COMPARISONS = 50_000
_COMPARISONS_PER_STATEMENT = 50


@dataclass(frozen=True, slots=True)
class _ComparedStatement:
    """A statement prepared for comparison; `policy_name` is the name of its policy, empty for the draft itself."""

    policy_name: str
    index: int
    effect: Effect
    roles: frozenset[str]
    pattern: ResourcePattern
    actions: frozenset[str]
    branch: str
    is_restricted: bool

    @property
    def pointer(self) -> str:
        """The JSON pointer of the statement in its document."""
        return f"/statements/{self.index}"

    def contains(self, other: "_ComparedStatement") -> bool:
        """Whether this statement covers the roles, actions and resources of `other`, on the same branch."""
        return (
            self.branch == other.branch
            and other.roles <= self.roles
            and other.actions <= self.actions
            and self.pattern.contains(other.pattern)
        )

    def overlaps(self, other: "_ComparedStatement") -> bool:
        """Whether some question matches both statements, for whatever actor."""
        return (
            self.branch == other.branch
            and not self.actions.isdisjoint(other.actions)
            and self.pattern.overlaps(other.pattern)
        )


def find_lints(*, document: Mapping[str, Any], urn: str | None) -> Iterator[Problem]:
    """Yield the lints of a validated document; `urn` is that of the policy it replaces, None for a new one."""
    statements = _read_statements("", document)
    other_statements = [
        statement
        for policy in active_policies.list_active_policies()
        .filter(family=Policy.Family.DATAZONE)
        .exclude(urn=urn or "")
        for statement in _read_statements(policy.name, policy.document)
    ]
    if not document.get("roles"):
        yield Problem("roles.none", "/roles", "Without roles this policy applies to nobody.")
    for statement in statements:
        yield from _lint_statement(statement)
    # The cost of comparing each statement with all others is the number of pairs.
    comparable_statements = statements[
        : MAX_COMPARISONS // (len(statements) + len(other_statements) + _COMPARISONS_PER_STATEMENT)
    ]
    branches = {other.branch for other in other_statements}
    for statement in comparable_statements:
        yield from _lint_against_others(
            statement, [other for other in statements if other is not statement] + other_statements
        )
        yield from _lint_branch(statement, branches)
    if len(comparable_statements) < len(statements):
        pointer = statements[len(comparable_statements)].pointer
        detail = "There are too many statements: from here on they are not compared with each other and other policies."
        yield Problem("statements.many", pointer, detail)
    yield from _lint_ids(statements)


def _read_statements(policy: str, document: Mapping[str, Any]) -> list[_ComparedStatement]:
    roles = frozenset(document.get("roles") or ())
    statements = []
    for index, item in enumerate(document["statements"]):
        pattern = parse_pattern(item["resource"], "")
        if isinstance(pattern, ResourcePattern):
            statements.append(
                _ComparedStatement(
                    policy_name=policy,
                    index=index,
                    effect=Effect(item["effect"]),
                    roles=roles,
                    pattern=pattern,
                    actions=expand(item["actions"]),
                    branch=item.get("branch") or MAIN_BRANCH,
                    is_restricted=bool(item.get("extra_constraints")),
                )
            )
    return statements


def _lint_statement(statement: _ComparedStatement) -> Iterator[Problem]:
    if statement.pattern.scope is PatternScope.CREATION and f"{statement.pattern.type}:create" not in statement.actions:
        detail = (
            f"A bare type covers only making new ones, but {statement.pattern.type}:create is not among the actions."
        )
        yield Problem("actions.without_create", f"{statement.pointer}/actions", detail)
    is_everything = statement.pattern.scope is PatternScope.EVERYTHING and statement.actions >= expand(["*:*"])
    if is_everything and statement.effect is Effect.ALLOW:
        yield Problem(
            "statement.broad", statement.pointer, "This allows everything on everything; name types or a project."
        )
    if statement.branch != MAIN_BRANCH and statement.pattern.type in unversioned_types():
        detail = f"A {statement.pattern.type} has no branches: this statement never matches."
        yield Problem("branch.never", f"{statement.pointer}/branch", detail)


def _lint_against_others(statement: _ComparedStatement, others: list[_ComparedStatement]) -> Iterator[Problem]:
    allows = [other for other in others if other.effect is Effect.ALLOW]
    if statement.effect is Effect.DENY:
        if statement.roles and not _has_effect(statement, [other for other in allows if other.overlaps(statement)]):
            detail = "Nothing allows what this denies to anybody it is for: without it the answer is no as well."
            yield Problem("statement.needless_deny", statement.pointer, detail)
        return
    if deny := next((other for other in others if other.effect is Effect.DENY and other.contains(statement)), None):
        yield Problem(
            "statement.shadowed",
            statement.pointer,
            f"{_statement_label(deny)} denies all of this, so it allows nothing.",
        )
    covering_allows = (
        other
        for other in allows
        if not other.is_restricted and other.contains(statement) and _is_first(other, statement)
    )
    if not statement.is_restricted and (allow := next(covering_allows, None)):
        yield Problem("statement.covered", statement.pointer, f"{_statement_label(allow)} allows all of this already.")
    if statement.is_restricted:
        yield from _lint_restriction(
            statement, [other for other in allows if not other.roles <= statement.roles and other.overlaps(statement)]
        )


def _has_effect(deny: _ComparedStatement, allows: Iterable[_ComparedStatement]) -> bool:
    """Whether one of `allows` applies to somebody the deny applies to, through the same role or another they hold."""
    roles = frozenset[str]().union(*(allow.roles for allow in allows))
    return not roles.isdisjoint(deny.roles) or not _load_holders(roles).isdisjoint(_load_holders(deny.roles))


def _is_first(other: _ComparedStatement, statement: _ComparedStatement) -> bool:
    """Whether `other` is to be kept of two equal statements of one document: the first one."""
    return other.policy_name != statement.policy_name or not statement.contains(other) or other.index < statement.index


def _lint_restriction(
    statement: _ComparedStatement, overlapping_allows: Iterable[_ComparedStatement]
) -> Iterator[Problem]:
    """Yield lints about other roles that widen or lift a restriction for people who hold both (DZ-56)."""
    holders = _load_holders(statement.roles)
    if not holders:
        return
    for allow in overlapping_allows:
        shared_holders = holders & _load_holders(allow.roles - statement.roles)
        if allow.is_restricted and shared_holders:
            label = _statement_label(allow)
            detail = f"{label} shows another part of it to {len(shared_holders)} of the same people; the parts add up."
            yield Problem("restriction.several", statement.pointer, detail)
        elif (
            not allow.is_restricted
            and allow.pattern.contains(statement.pattern)
            and len(shared_holders) >= MIN_LIFTED_SHARE * len(holders)
        ):
            label = _statement_label(allow)
            detail = f"{label} lifts this for {len(shared_holders)} of the {len(holders)} people it is for."
            yield Problem("restriction.lifted", statement.pointer, detail)


def _load_holders(roles: frozenset[str]) -> frozenset[str]:
    return (
        frozenset(users_by_actor_clause.list_users_by_actor_tokens(tokens=roles).values_list("urn", flat=True))
        if roles
        else frozenset()
    )


def _lint_branch(statement: _ComparedStatement, branches: Collection[str]) -> Iterator[Problem]:
    """Yield a lint for a branch that no other policy names: branches are not registered, so typos show nowhere else."""
    if statement.branch != MAIN_BRANCH and statement.branch not in branches:
        detail = (
            f"No other policy speaks of a branch {statement.branch!r}; if there is none, this statement never matches."
        )
        yield Problem("branch.unknown", f"{statement.pointer}/branch", detail)


def _lint_ids(statements: Iterable[_ComparedStatement]) -> Iterator[Problem]:
    references = [
        (statement.pointer, pair)
        for statement in statements
        for pair in ((statement.pattern.type, statement.pattern.id), ("project", statement.pattern.project))
        if pair[1]
    ]
    urns_by_id = facet_source().find(objects={pair for _, pair in references}) if references else {}
    for pointer, (kind, identifier) in references:
        if (kind, identifier) not in urns_by_id:
            yield Problem("id.unknown", f"{pointer}/resource", f"The catalog has no {kind} with the id {identifier}.")


def _statement_label(statement: _ComparedStatement) -> str:
    return f"Statement {statement.index + 1} of {statement.policy_name or 'this policy'}"
