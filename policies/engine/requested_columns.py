"""A decision about part of a resource: some columns of a table, or a path in a repository.

Rules: `rules/datazone.md` DZ-55 to DZ-67. What was decided about the whole is narrowed afterwards, so the evaluator
knows nothing of columns and paths.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from policies.engine.model import Actor, Code, Cover, Coverage, Decision
from policies.engine.restrictions import RoleAllow, Slice, combine, is_within, normal_path, shared_columns
from policies.engine.selectors import Selector


def narrowed(decision: Decision, *, columns: Sequence[str] | None = None, path: str | None = None) -> Decision:
    """Return the decision about these columns (None: all of them) and this path (None: the question names none).

    Of restricted columns only the ones asked for are kept; when none is left the answer is no (DZ-59). A path inside a
    prefix is answered without restriction by prefix; one outside all of them, or one that is no path, is refused
    (DZ-65). A refusal stays what it is.
    """
    if not decision.is_allowed or (columns is None and path is None):
        return decision
    if path is not None:
        decision = _along(decision, normal_path(path))
    if columns is not None and decision.slices is not None:
        kept = [_showing(one, columns) for one in decision.slices]
        decision = _with_slices(decision, [one for one in kept if one.columns != ()], Code.NO_COLUMNS)
    return decision


def _along(decision: Decision, path: str | None) -> Decision:
    if path is None:
        return _with_slices(decision, [], Code.PATH_NOT_ALLOWED)
    if decision.slices is None:
        return decision
    reached = [
        replace(one, paths=None)
        for one in decision.slices
        if one.paths is None or any(is_within(path, prefix) for prefix in one.paths)
    ]
    return _with_slices(decision, reached, Code.PATH_NOT_ALLOWED)


def _showing(one: Slice, columns: Sequence[str]) -> Slice:
    listed = tuple(columns) if one.columns is None else one.columns
    return replace(one, columns=shared_columns(listed, columns))


def _with_slices(decision: Decision, slices: list[Slice], otherwise: Code) -> Decision:
    if not slices:
        return decision._replace(is_allowed=False, code=otherwise, slices=None)
    if any(not one.rows and one.columns is None and one.paths is None for one in slices):
        return decision._replace(slices=None)
    return decision._replace(slices=tuple(slices))


@dataclass(frozen=True, slots=True)
class Blind:
    """Entities of which restricted allows leave no column to see; only the `lifting` allows still reach them."""

    selector: Selector
    lifting: tuple[Cover, ...]


def blind_spots(coverage: Coverage) -> Iterator[Blind]:
    """Return where a coverage reaches entities that nothing of can be seen: a question about one is refused (DZ-57).

    Restrictions of one role on one entity stack, so lists that share no column show nothing; another role that sees a
    column, or all of them, still does (DZ-55, DZ-56).
    """
    by_selector: dict[Selector, list[Cover]] = defaultdict(list)
    for cover in coverage.allows:
        if cover.statement.restriction is not None and cover.statement.restriction.columns is not None:
            by_selector[cover.selector].append(cover)
    for selector in by_selector:
        blind = _blind_roles(coverage, selector)
        lifting = tuple(cover for cover in coverage.allows if not _held(cover, coverage.actor) <= blind)
        if blind and len(lifting) < len(coverage.allows):
            yield Blind(selector, lifting)


def _blind_roles(coverage: Coverage, selector: Selector) -> frozenset[str]:
    """Return the roles that see no column of what the selector covers."""
    stacked: dict[str, list[RoleAllow]] = defaultdict(list)
    for cover in coverage.allows:
        if cover.selector == selector:
            for role in _held(cover, coverage.actor):
                stacked[role].append(RoleAllow(role, cover.statement.restriction))
    return frozenset(role for role, allows in stacked.items() if combine(allows) == ())


def _held(cover: Cover, actor: Actor) -> frozenset[str]:
    return (cover.statement.actors.tokens & actor.roles) or frozenset({""})
