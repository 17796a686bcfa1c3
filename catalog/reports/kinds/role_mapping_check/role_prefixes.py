"""Whether the catalog knows roles of an export under the `role_prefix` that `exports.json` gives it."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import is_named_role
from catalog.sql_text import quote_text
from catalog.warehouses.exports import EXPORTS_FILE
from catalog.warehouses.principals import EVERYBODY_NAMES, is_outside
from catalog.warehouses.warehouse import BadExports, Export


def check_role_prefixes(existing_roles: DataFrame, known_roles: DataFrame, exports: Sequence[Export]) -> None:
    """Raise BadExports for an export with roles of which the catalog knows none: every finding would be wrong.

    Roles that `roles` names, everybody, shares, applications and service accounts are not under the prefix.
    """
    if not any(export.role_prefix for export in exports):
        return
    is_named_elsewhere = is_named_role(exports, lambda export: (*EVERYBODY_NAMES, *export.roles))
    is_prefixed = " OR ".join(
        f"(export = {quote_text(export.name)} AND startswith(role, {quote_text(export.role_prefix.lower())}))"
        for export in exports
    )
    is_asked = f"({is_prefixed}) AND NOT {is_named_elsewhere} AND NOT {is_outside('role_name')}"
    roles = existing_roles.filter(is_asked).join(known_roles.selectExpr("role", "true AS is_known"), "role", "left")
    counts = roles.groupBy("export").agg(*map(f.expr, ("count(is_known) AS known", "min(role) AS example")))
    strangers = {row["export"]: row["example"] for row in counts.filter("known = 0").collect()}
    problems = [
        f"The catalog knows no role of the export {export.name} under its role_prefix {export.role_prefix!r}; "
        f"one of them would be {strangers[export.name]}. Correct the prefix in {EXPORTS_FILE}."
        for export in exports
        if export.role_prefix and export.name in strangers
    ]
    if problems:
        raise BadExports(" ".join(problems))
