"""One script of many repairs, and the one that takes them back: in an order that works, with a check. No Spark."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from catalog.warehouses.repair_statements import (
    ALL_PRIVILEGES,
    RepairStatement,
    ScriptPhase,
    find_names,
    find_phases,
    read_statement,
    render_note,
    split_privileges,
)

_HEADINGS: Mapping[ScriptPhase, str] = {
    ScriptPhase.CREATE: "What others need",
    ScriptPhase.GIVE: "What is given",
    ScriptPhase.TAKE: "What is taken, and what comes in its place",
    ScriptPhase.END: "What nothing else names any more",
    ScriptPhase.BY_HAND: "By hand: no statement of this script does it",
}


class ScriptRepair(NamedTuple):
    """The part of a script about one finding: its sentence, and lines of statements and comments."""

    sentence: str
    lines: Sequence[str]


class Outcome(NamedTuple):
    """The state after a script: that somebody (`whom`) has a privilege or role, or has not.

    `kind` is GRANT, MEMBER, EXISTS, OWNER, DEFAULT or PART. All are as the statements have them; `on` is "" for a role.
    """

    kind: str
    privilege: str
    on: str
    whom: str
    is_there: bool
    catalog_clause: str = ""

    @property
    def path(self) -> list[str]:
        """The names in `on`, without their quotation marks."""
        return unquote_names(self.on)

    def describe(self) -> str:
        """Return it in words, for a comment."""
        words = " ".join(
            filter(
                None, (self.privilege, self.on, self.catalog_clause.strip(), f"for {self.whom}" if self.whom else "")
            )
        )
        return f"{'There' if self.is_there else 'Gone'}: {words}"


@dataclass(frozen=True, slots=True)
class ScriptFrame:
    """The frame of a dialect for the statements of a script.

    `begin` and `end` make them one transaction, where there is such a thing. `check` returns the queries that show
    whether outcomes hold, `all_privileges` are those that ALL PRIVILEGES stands for, where the check tells them apart.
    """

    check: Callable[[Sequence[Outcome]], str]
    begin: str = ""
    end: str = ""
    all_privileges: Sequence[str] = ()


def render_script(
    repairs: Sequence[ScriptRepair], frame: ScriptFrame | None, *, header: Iterable[str], is_inverse: bool
) -> Iterator[str]:
    """Yield the lines of a script.

    `header` are sentences about where it is from. Without a frame there is no check.
    """
    lines_by_phase: dict[ScriptPhase, list[str]] = defaultdict(list)
    statements_by_phase: dict[ScriptPhase, list[RepairStatement]] = defaultdict(list)
    for repair in repairs:
        phases = find_phases(repair.lines, is_inverse=is_inverse)
        for phase in sorted(set(phases)):
            lines = [line for line, its_phase in zip(repair.lines, phases, strict=True) if its_phase == phase]
            if phase is ScriptPhase.BY_HAND:
                lines = [line if line.startswith("--") else render_note(line) for line in lines]
            lines_by_phase[phase] += [render_note(repair.sentence), *lines]
            statements_by_phase[phase] += filter(None, map(read_statement, lines))
    statements = [statement for phase in sorted(statements_by_phase) for statement in statements_by_phase[phase]]
    yield from map(render_note, header)
    yield render_note(f"{len(statements):,} statements for {len(repairs):,} findings.")
    by_hand = lines_by_phase.pop(ScriptPhase.BY_HAND, [])
    if statements:
        frame_lines = ("", "") if frame is None else (frame.begin, frame.end)
        yield from filter(None, frame_lines[:1])
        for phase in sorted(lines_by_phase):
            yield from (*_render_heading(_HEADINGS[phase]), *lines_by_phase[phase])
        yield from filter(None, frame_lines[1:])
    if by_hand:
        yield from (*_render_heading(_HEADINGS[ScriptPhase.BY_HAND]), *by_hand)
    if statements and frame is not None:
        yield from _render_heading("Check: what the statements should have changed")
        yield frame.check(list_outcomes(statements, frame.all_privileges))


def _render_heading(text: str) -> tuple[str, str]:
    return "", f"-- {text} {'-' * (100 - len(text))}"


def list_outcomes(statements: Iterable[RepairStatement], all_privileges: Sequence[str]) -> list[Outcome]:
    """Return what holds after statements: the last one about something decides, for each who gave it."""
    outcomes: dict[tuple[str, ...], Outcome] = {}
    names: dict[str, str] = {}
    for statement in statements:
        holder, is_there = (statement.on, statement.whom), not statement.is_taking
        catalog_clause = statement.parts.get("place", "")
        if statement.is_renaming:
            names[statement.privilege] = statement.whom
            new_outcomes = [Outcome("EXISTS", name, "", "", is_known) for name, is_known in _list_names(statement)]
        elif statement.is_owner_change:
            new_outcomes = [Outcome("OWNER", "OWNERSHIP", *holder, is_there=True)]
        elif statement.kind in ("GRANT", "DEFAULT"):
            privileges = split_privileges(statement.privilege)
            if privileges == [ALL_PRIVILEGES] and all_privileges:
                privileges = list(all_privileges)
            new_outcomes = [Outcome(statement.kind, name, *holder, is_there) for name in privileges]
        else:
            new_outcomes = [Outcome(statement.kind, statement.privilege, *holder, is_there, catalog_clause)]
        giver = statement.parts.get("head", "")
        outcomes |= {(*outcome[:4], outcome.catalog_clause, giver): outcome for outcome in new_outcomes}
    # What one gave is there, whatever another one took.
    given_keys = {outcome[:4] for outcome in outcomes.values() if outcome.is_there}
    return [
        outcome._replace(whom=names.get(outcome.whom, outcome.whom))
        for outcome in outcomes.values()
        if outcome.is_there or outcome[:4] not in given_keys
    ]


def _list_names(statement: RepairStatement) -> list[tuple[str, bool]]:
    return [(statement.privilege, False), (statement.whom, True)]


def render_queries(outcomes: Iterable[Outcome], find_query: Callable[[Outcome], str]) -> str:
    """Return queries, each once, under comments that say what has to be there and what has to be gone."""
    outcomes_by_query: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        outcomes_by_query[find_query(outcome)].append(outcome)
    hidden_outcomes = outcomes_by_query.pop("", [])
    lines = []
    for query, its_outcomes in outcomes_by_query.items():
        lines += [*(render_note(outcome.describe()) for outcome in its_outcomes), query]
    if hidden_outcomes:
        lines.append("-- No query of this system shows these:")
        lines += [render_note(outcome.describe()) for outcome in hidden_outcomes]
    return "\n".join(lines)


def unquote_names(text: str) -> list[str]:
    """Return the names between quotation marks in a part of a statement."""
    return [name[1:-1].replace(2 * name[0], name[0]) for name in find_names(text)]


def quote_literal(text: str) -> str:
    """Return a text as standard SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
