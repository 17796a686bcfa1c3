"""The frame of a script of repairs of Snowflake, which commits each statement."""

from catalog.warehouses.repair_script import Outcome, ScriptFrame, render_queries


def _find_query(outcome: Outcome) -> str:
    match outcome.kind:
        case "GRANT":
            return f"SHOW {'FUTURE ' if outcome.on.startswith('ON FUTURE ') else ''}GRANTS TO {outcome.whom};"
        case "MEMBER":
            return f"SHOW GRANTS OF {outcome.privilege};"
        case "EXISTS":
            return "SHOW ROLES;" if len(outcome.privilege.split(".")) == 1 else ""
        case "OWNER":
            return f"SHOW GRANTS TO {outcome.whom};"
        case _:
            return ""


FRAME = ScriptFrame(check=lambda outcomes: render_queries(outcomes, _find_query))
