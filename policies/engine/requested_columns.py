"""A decision about part of a resource: some columns of a table, or a path in a repository.

Rules: `rules/datazone.md` DZ-55 to DZ-67. The finished decision about the whole resource is narrowed here, so that
`evaluate` needs no knowledge of columns and paths.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from policies.engine.model import Actor, Cover, Coverage, Decision, DecisionCode
from policies.engine.restrictions import (
    RoleAllow,
    RoleSlice,
    combine_allows,
    intersect_columns,
    is_within,
    normalize_path,
)
from policies.engine.selectors import Selector


def apply_requested_columns(
    decision: Decision, *, columns: Sequence[str] | None = None, path: str | None = None
) -> Decision:
    """Return the decision about these columns (None: all of them) and this path (None: the question names none).

    Of restricted columns only the requested ones remain; if none is left the answer is no (DZ-59). For a path inside a
    prefix, slices are returned without paths; a path outside all prefixes, or one that is invalid, is refused (DZ-65).
    A refusal is returned unchanged.
    """
    if not decision.is_allowed or (columns is None and path is None):
        return decision
    if path is not None:
        decision = _apply_path(decision, normalize_path(path))
    if columns is not None and decision.slices is not None:
        visible_slices = [_restrict_columns(role_slice, columns) for role_slice in decision.slices]
        decision = _with_slices(
            decision, [role_slice for role_slice in visible_slices if role_slice.columns != ()], DecisionCode.NO_COLUMNS
        )
    return decision


def _apply_path(decision: Decision, path: str | None) -> Decision:
    if path is None:
        return _with_slices(decision, [], DecisionCode.PATH_NOT_ALLOWED)
    if decision.slices is None:
        return decision
    reachable_slices = [
        replace(role_slice, paths=None)
        for role_slice in decision.slices
        if role_slice.paths is None or any(is_within(path, prefix) for prefix in role_slice.paths)
    ]
    return _with_slices(decision, reachable_slices, DecisionCode.PATH_NOT_ALLOWED)


def _restrict_columns(role_slice: RoleSlice, columns: Sequence[str]) -> RoleSlice:
    visible_columns = tuple(columns) if role_slice.columns is None else role_slice.columns
    return replace(role_slice, columns=intersect_columns(visible_columns, columns))


def _with_slices(decision: Decision, slices: list[RoleSlice], refusal_code: DecisionCode) -> Decision:
    if not slices:
        return decision._replace(is_allowed=False, code=refusal_code, slices=None)
    if any(not role_slice.rows and role_slice.columns is None and role_slice.paths is None for role_slice in slices):
        return decision._replace(slices=None)
    return decision._replace(slices=tuple(slices))


@dataclass(frozen=True, slots=True)
class HiddenExtent:
    """Entities of which restricted allows leave no visible column; only the `lifting_covers` still reach them."""

    selector: Selector
    lifting_covers: tuple[Cover, ...]


def find_hidden_extents(coverage: Coverage) -> Iterator[HiddenExtent]:
    """Yield the entities of which a coverage leaves no visible column: a question about one is refused (DZ-57).

    Restrictions of one role on one entity stack, so column lists without a common column show nothing, unless another
    role sees a column or all of them (DZ-55, DZ-56).
    """
    covers_by_selector: dict[Selector, list[Cover]] = defaultdict(list)
    for cover in coverage.allows:
        if cover.statement.restriction is not None and cover.statement.restriction.columns is not None:
            covers_by_selector[cover.selector].append(cover)
    for selector in covers_by_selector:
        blind_roles = _find_roles_without_columns(coverage, selector)
        lifting_covers = tuple(
            cover for cover in coverage.allows if not _cover_roles(cover, coverage.actor) <= blind_roles
        )
        if blind_roles and len(lifting_covers) < len(coverage.allows):
            yield HiddenExtent(selector, lifting_covers)


def _find_roles_without_columns(coverage: Coverage, selector: Selector) -> frozenset[str]:
    """Return the roles that see no column of the entities that the selector covers."""
    allows_by_role: dict[str, list[RoleAllow]] = defaultdict(list)
    for cover in coverage.allows:
        if cover.selector == selector:
            for role in _cover_roles(cover, coverage.actor):
                allows_by_role[role].append(RoleAllow(role, cover.statement.restriction))
    return frozenset(role for role, allows in allows_by_role.items() if combine_allows(allows) == ())


def _cover_roles(cover: Cover, actor: Actor) -> frozenset[str]:
    return (cover.statement.actors.tokens & actor.roles) or frozenset({""})
