"""The frame of a script of repairs of BigQuery: each object is asked for its bindings, in its own region."""

from catalog.warehouses.repair_script import Outcome, ScriptFrame, quote_literal, render_queries


def _find_query(outcome: Outcome) -> str:
    path = outcome.path[-1].split(".") if outcome.path else []
    if outcome.kind != "GRANT" or len(path) not in (2, 3):
        return ""
    project = "`" + path[0] + "`"
    where = f"object_name = {quote_literal(path[-1])}"
    if len(path) == 3:
        where += f" AND object_schema = {quote_literal(path[1])}"
    view = f"{project}.`region-REGION`.INFORMATION_SCHEMA.OBJECT_PRIVILEGES"
    return f"SELECT privilege_type, grantee FROM {view} WHERE {where};"  # noqa: S608 - quoted


FRAME = ScriptFrame(check=lambda outcomes: render_queries(outcomes, _find_query))
