"""Whether the catalog knows an export: roles under its `role_prefix`, else anything of it."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import is_named_role
from catalog.reports.kinds.role_mapping_check.file_limits import FileProblem
from catalog.reports.kinds.role_mapping_check.run_inputs import UnreadableExports
from catalog.sql_text import quote_text
from catalog.warehouses.difference_words import dotted_name
from catalog.warehouses.exports import EXPORTS_FILE
from catalog.warehouses.principals import EVERYBODY_NAMES, is_outside
from catalog.warehouses.warehouse import Export


def check_known(
    existing_roles: DataFrame, grants: DataFrame, known_roles: DataFrame, exports: Sequence[Export]
) -> None:
    """Raise UnreadableExports for exports with roles of which the catalog knows none: every finding would be wrong.

    `grants` are those of `reach.find_reach`: without a `role_prefix`, an export is of another account if it also opens
    nothing that the catalog has. Roles that `roles` names, everybody, shares, applications and service accounts are
    not under the prefix.
    """
    is_named_elsewhere = is_named_role(exports, lambda export: (*EVERYBODY_NAMES, *export.roles))
    is_prefixed = " OR ".join(
        f"(export = {quote_text(export.name)} AND startswith(role, {quote_text(export.role_prefix.lower())}))"
        for export in exports
    )
    is_asked = f"({is_prefixed}) AND NOT {is_named_elsewhere} AND NOT {is_outside('role_name')}"
    known_roles = known_roles.selectExpr("role", "true AS is_known")
    roles = existing_roles.filter(is_asked).join(known_roles, "role", "left")
    counts = roles.groupBy("export").agg(*map(f.expr, ("count(is_known) AS known", "min(role) AS example")))
    strangers = {row["export"]: row["example"] for row in counts.filter("known = 0").collect()}
    problems = {}
    for export in exports:
        example = strangers.get(export.name)
        if example and export.role_prefix:
            problems[export.name] = (
                f"The catalog knows no role of the export {export.name} under its role_prefix {export.role_prefix!r}; "
                f"one of them would be {example}. Correct the prefix in {EXPORTS_FILE}."
            )
        elif example and not export.roles and (strange_name := _find_strange_place(grants, export)):
            problems[export.name] = (
                f"The export {export.name} seems to be of another account: the catalog knows none of its roles, such "
                f"as {example}, and nothing that it opens, such as {strange_name}. Correct platform, instance, env, "
                f"database or role_prefix in {EXPORTS_FILE}."
            )
    if problems:
        raise UnreadableExports({name: [FileProblem(None, sentence)] for name, sentence in problems.items()})


def _find_strange_place(grants: DataFrame, export: Export) -> str:
    """Return an object that an export opens if the catalog has none of them, else ""."""
    rows = grants.filter(f"export = {quote_text(export.name)}")
    row = rows.selectExpr("min(object) AS object", "count(number) AS count").head()
    return dotted_name(row["object"]) if row and not row["count"] else ""
