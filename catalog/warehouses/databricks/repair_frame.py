"""The frame of a script of repairs of Databricks, where each statement is in force at once."""

from catalog.warehouses.repair_script import Outcome, ScriptFrame, render_queries


def _find_query(outcome: Outcome) -> str:
    match outcome.kind:
        case "GRANT":
            return f"SHOW GRANTS {outcome.on};"
        case "OWNER":
            container_type, _, name = outcome.on.removeprefix("ALTER ").removesuffix(" OWNER TO ").partition(" ")
            return f"DESCRIBE {container_type} EXTENDED {name};"
        case "PART":
            return f"SHOW ALL IN {outcome.on.removeprefix('ALTER ')};"
        case _:
            return ""


FRAME = ScriptFrame(check=lambda outcomes: render_queries(outcomes, _find_query))
