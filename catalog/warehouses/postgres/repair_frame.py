"""The frame of a script of repairs of PostgreSQL: a transaction, and a query about its effect."""

from collections.abc import Sequence
from importlib.resources import files

from catalog.warehouses.repair_script import Outcome, ScriptFrame, quote_literal


def _render_check(outcomes: Sequence[Outcome]) -> str:
    """Return the query that lists what is not as it should be: no row where all is."""
    rows = ",\n    ".join(
        f"({', '.join(quote_literal(text) for text in _list_values(outcome))})" for outcome in outcomes
    )
    return files(__package__).joinpath("check.sql").read_text(encoding="utf-8").replace("{expected}", rows).rstrip()


def _list_values(outcome: Outcome) -> tuple[str, ...]:
    return ("there" if outcome.is_there else "gone", outcome.kind, outcome.privilege, outcome.on, outcome.whom)


FRAME = ScriptFrame(
    check=_render_check,
    begin="BEGIN;",
    end="COMMIT;",
    all_privileges=("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"),
)
