"""Roles of the catalog that a source has under another name.

A role is renamed if one role that the catalog does not know opens at least 90 % of the datasets that the role should
open, three or more, at its level, and the role itself no longer does. Everything else is then compared as if both
names were the role's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    is_named_role,
    same_named_columns,
    select_difference_columns,
)
from catalog.sql_text import quote_name, quote_text
from catalog.warehouses.principals import EVERYBODY_NAMES, is_outside
from catalog.warehouses.warehouse import Export

#: How many of a role's grants have to agree with those of the new name: a number, and a part of all in percent.
_MIN_GRANTS, _MIN_PERCENT = 3, 90

_SCHEMA = "export string, role string, new_role string, new_name string, count bigint, total bigint"


@dataclass(frozen=True, slots=True)
class RoleRenames:
    """The renamed roles: `frame` has export, role, new_role, new_name, and count of total grants that agree."""

    frame: DataFrame

    def rename(self, rows: DataFrame, column: str = "role") -> DataFrame:
        """Return rows in which a new role is the role that it stands for."""
        names = self.frame.selectExpr("export", f"new_role AS {column}", "role AS declared_role")
        renamed = rows.join(f.broadcast(names), ["export", column], "left")
        return _select_columns(renamed, rows.columns, **{column: f"coalesce(declared_role, {column})"})

    def rename_inheritance(self, inherited_roles: DataFrame) -> DataFrame:
        """Return the closure of role inheritance with renamed roles; two names of one role give it nothing."""
        return self.rename(self.rename(inherited_roles), "given").filter("role <> given")

    def rename_existing(self, existing_roles: DataFrame) -> DataFrame:
        """Return (export, role, role_name) of existing roles: a renamed one exists, under its new name."""
        renamed = self.rename(existing_roles.withColumn("found_role", f.expr("role")))
        name = "min(struct(role = found_role, role_name)).role_name"
        return renamed.groupBy(*ROLE_COLUMNS).agg(f.expr(f"{name} AS role_name"))

    def select_renamed(self, rows: DataFrame) -> DataFrame:
        """Return the rows about renamed roles, in which a new role is the role that it stands for."""
        roles = f.broadcast(self.frame.selectExpr(*ROLE_COLUMNS))
        return _select_columns(self.rename(rows).join(roles, ROLE_COLUMNS, "left_semi"), rows.columns)

    def drop_roles(self, rows: DataFrame) -> DataFrame:
        """Return the rows that are about other roles."""
        names = self.frame.selectExpr(*ROLE_COLUMNS).union(self.frame.selectExpr("export", "new_role"))
        return _select_columns(rows.join(f.broadcast(names), ROLE_COLUMNS, "left_anti"), rows.columns)

    def add_new_names(self, differences: DataFrame) -> DataFrame:
        """Return the differences with `new_name` where the role has one."""
        names = self.frame.selectExpr("export", "role", "new_name AS found_name")
        rows = differences.join(f.broadcast(names), ROLE_COLUMNS, "left")
        return _select_columns(rows, differences.columns, new_name="found_name")

    def build_differences(self, declared_access: DeclaredAccess, existing_roles: DataFrame) -> DataFrame:
        """Return a difference for each renamed role; `existing_roles` are those of the source, by their own names."""
        rows = self.frame.join(declared_access.roles.selectExpr("role", "role_urn"), "role")
        kept_roles = existing_roles.selectExpr(*ROLE_COLUMNS, "true AS is_there")
        return select_difference_columns(
            rows.join(kept_roles, ROLE_COLUMNS, "left"),
            type=f"'{DifferenceType.ROLE_RENAMED}'",
            severity=f"'{DifferenceSeverity.MEDIUM}'",
            **same_named_columns("export", "role", "role_urn", "new_name", "count", "total"),
            grantee="new_name",
            is_there="coalesce(is_there, false)",
        )


def find_renames(pairs: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> RoleRenames | None:
    """Return the renamed roles, None without any. `pairs` are those of `pair_roles_with_datasets`.

    Each role has one new name and each name stands for one role: the pairs in which most agrees go first, then those
    whose new role opens least besides, then by name.
    """
    candidates = _find_candidates(pairs, exports)
    totals = declared_access.role_datasets.join(f.broadcast(candidates), ROLE_COLUMNS, "left_semi")
    totals = totals.groupBy(*ROLE_COLUMNS).agg(f.expr("count(DISTINCT number) AS total"))
    fitting = candidates.join(totals, ROLE_COLUMNS).filter(f"count * 100 >= total * {_MIN_PERCENT}")
    chosen: list[tuple[object, ...]] = []
    chosen_names: set[tuple[str, str]] = set()
    order = (f.expr("count / total").desc(), "opened", "export", "role", "new_role")
    for row in fitting.orderBy(*order).collect():
        # A new role is unknown to the catalog, so that the same name is never both.
        names = {(row["export"], row["role"]), (row["export"], row["new_role"])}
        if chosen_names.isdisjoint(names):
            chosen_names |= names
            chosen.append(tuple(row[name] for name in ("export", "role", "new_role", "new_name", "count", "total")))
    return RoleRenames(pairs.sparkSession.createDataFrame(chosen, _SCHEMA)) if chosen else None


def _find_candidates(pairs: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return (export, role, new_role, new_name, count, opened): enough lost grants of a role that a new role has.

    `opened` is the number of datasets that the new role opens.
    """
    is_no_name = is_named_role(exports, lambda export: (*EVERYBODY_NAMES, *export.ignored_roles))
    lost = pairs.filter("is_said AND level IS NULL").selectExpr("export", "number", "role", "declared_level")
    # Where grantees are named with their kind, only some are roles of the catalog.
    kinds = "".join(
        f" WHEN {quote_text(export.name)} THEN {quote_text(export.warehouse.role_kind)}" for export in exports
    )
    role_kind = f"CASE export{kinds} END"
    is_strange = f"""NOT is_said AND role_urn IS NULL AND via = '' AND NOT {is_no_name}
        AND startswith(grantee, {role_kind}) AND NOT {is_outside("grantee")}"""
    strange = pairs.filter(is_strange).selectExpr(
        "export",
        "number",
        "role AS new_role",
        f"substring(grantee, length({role_kind}) + 1) AS new_name",
        "level",
    )
    opened = strange.groupBy("export", "new_role").agg(
        *map(f.expr, ("count(*) AS opened", "min(new_name) AS new_name"))
    )
    agreeing = lost.join(strange, ["export", "number"]).filter("declared_level IS NULL OR level = declared_level")
    counts = agreeing.groupBy(*ROLE_COLUMNS, "new_role").agg(f.expr("count(*) AS count"))
    return counts.filter(f"count >= {_MIN_GRANTS}").join(opened, ["export", "new_role"])


def _select_columns(rows: DataFrame, names: Sequence[str], **expressions: str) -> DataFrame:
    """Return columns by their names; `expressions` of SQL are the values of some."""
    return rows.selectExpr(
        *(f"{expressions[name]} AS {quote_name(name)}" if name in expressions else quote_name(name) for name in names)
    )
