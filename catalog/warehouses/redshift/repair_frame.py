"""The frame of a script of repairs of Redshift: one transaction."""

from catalog.warehouses.repair_script import Outcome, ScriptFrame, quote_literal, render_queries, unquote_names

_QUERIES = {
    "MEMBER": "SELECT user_name AS holder FROM svv_user_grants WHERE role_name = {first} "
    "UNION ALL SELECT role_name FROM svv_role_grants WHERE granted_role_name = {first};",
    "EXISTS": "SELECT role_name FROM svv_roles WHERE role_name = {first};",
    "OWNER": "SELECT tableowner FROM pg_tables WHERE schemaname = {container} AND tablename = {last} "
    "UNION ALL SELECT viewowner FROM pg_views WHERE schemaname = {container} AND viewname = {last};",
    "DEFAULT": "SELECT * FROM svv_default_privileges;",
    "PART": "SELECT grolist FROM pg_group WHERE groname = {last};",
    "SHARE": "SELECT * FROM svv_datashare_objects WHERE share_name = {last};",
}


def _find_query(outcome: Outcome) -> str:
    if outcome.kind == "GRANT":
        return f"SHOW GRANTS {outcome.on if outcome.on.startswith('ON ') else f'FOR {outcome.whom}'};"
    names = [quote_literal(name) for name in (*unquote_names(outcome.privilege), *outcome.path)]
    if outcome.kind == "PART":
        names = [quote_literal(outcome.path[-1])]
    kind = "SHARE" if "DATASHARE" in outcome.on else outcome.kind
    return _QUERIES[kind].format(first=names[0], last=names[-1], container=names[-2:][0])


FRAME = ScriptFrame(check=lambda outcomes: render_queries(outcomes, _find_query), begin="BEGIN;", end="COMMIT;")
