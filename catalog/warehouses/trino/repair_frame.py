"""The frame of a script of repairs of Trino, whose connectors have no transaction for grants."""

from catalog.warehouses.repair_script import Outcome, ScriptFrame, quote_literal, render_queries, unquote_names


def _find_query(outcome: Outcome) -> str:
    catalog = outcome.catalog_clause.removeprefix(" IN ")
    match outcome.kind:
        case "GRANT" if outcome.on.startswith("ON TABLE "):
            return f"SHOW GRANTS {outcome.on};"
        case "EXISTS" if catalog:
            return f"SHOW ROLES FROM {catalog};"
        case "MEMBER" if catalog:
            role = quote_literal(unquote_names(outcome.privilege)[-1])
            view = "information_schema.role_authorization_descriptors"
            return f"SELECT grantee_type, grantee FROM {catalog}.{view} WHERE role_name = {role};"  # noqa: S608 - quoted
        case _:
            return ""


FRAME = ScriptFrame(check=lambda outcomes: render_queries(outcomes, _find_query))
