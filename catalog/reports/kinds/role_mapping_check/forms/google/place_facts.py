"""Facts of the hierarchy and of deny policies: which project is in which place, and who may not read there."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.google.conditions import ConditionState, judge_condition
from catalog.reports.kinds.role_mapping_check.forms.google.denials import parse_denials
from catalog.reports.kinds.role_mapping_check.forms.google.hierarchy import (
    Hierarchy,
    HierarchyNode,
    build_hierarchy,
    parse_node,
)
from catalog.reports.kinds.role_mapping_check.forms.lines import LINE_COLUMNS, read_lines
from catalog.reports.kinds.role_mapping_check.grant_facts import FACT_COLUMNS, FactKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule

Row = dict[str, Any]
_NO_NODE = "It is no JSON object of a project or folder."
_NO_POLICY = "It is no JSON object of a deny policy."


@dataclass(frozen=True, slots=True)
class Places:
    """`names`: known_as (a place that is no identifier of a project), known_project, is_known; facts of the files."""

    names: DataFrame
    facts: Sequence[DataFrame]


def read_places(spark: SparkSession, folder: str, export: Export) -> Places:
    """Return the places of the hierarchy, and the facts of it and of deny policies, as many as projects and folders."""
    node_rows = _read_rows(spark, folder, export, export.hierarchy)
    nodes = [None if row["what"] else parse_node(row["object"]) for row in node_rows]
    hierarchy = build_hierarchy(filter(None, nodes))
    rows = [fact for row, node in zip(node_rows, nodes, strict=True) for fact in _list_node_facts(row, node)]
    rows += _list_place_facts(export, hierarchy)
    for row in _read_rows(spark, folder, export, export.denies):
        rows += _list_denial_facts(export, hierarchy, row)
    names = [(container, hierarchy.find_project(container), True) for container in hierarchy.projects]
    return Places(
        spark.createDataFrame(names, "known_as string, known_project string, is_known boolean"),
        [_build_facts(spark, rows)] if rows else [],
    )


def _read_rows(spark: SparkSession, folder: str, export: Export, patterns: Sequence[str]) -> list[Row]:
    """Return a row for each line of files: its export, place in the files, outcome, and text as `row_text`."""
    return [
        {
            "export": export.name,
            "file": line["row_file"],
            "block": line["row_block"],
            "line": line["row_line"],
            "has_header": False,
            "is_counted": True,
            "what": FactKind.NO_ROW if not line["is_row"] else FactKind.BAD if line["row_problem"] else None,
            "reason": line["row_problem"] if line["is_row"] else None,
            "object": line["row_text"],
        }
        for pattern in patterns
        for line in read_lines(spark, folder, pattern).select(*LINE_COLUMNS).collect()
    ]


def _list_node_facts(row: Row, node: HierarchyNode | None) -> Iterator[Row]:
    outcome = (
        {}
        if row["what"]
        else {"what": FactKind.PLACE, "is_counted": False}
        if node
        else {"what": FactKind.BAD, "reason": _NO_NODE}
    )
    yield row | outcome


def _list_place_facts(export: Export, hierarchy: Hierarchy) -> Iterator[Row]:
    """Yield each project in each organization and folder; these facts are of no line."""
    for container, projects in hierarchy.projects.items():
        if not container.startswith("projects/"):
            for project in projects:
                yield {
                    "export": export.name,
                    "is_counted": False,
                    "what": FactKind.PLACE,
                    "object_key": container,
                    "grantee_key": project,
                }


def _list_denial_facts(export: Export, hierarchy: Hierarchy, row: Row) -> Iterator[Row]:
    """Yield a fact for each principal that each rule of a line denies or exempts; those that are not used are rows."""
    rules = None if row["what"] else parse_denials(export, row["object"])
    if row["what"] or rules is None:
        yield row if row["what"] else row | {"what": FactKind.BAD, "reason": _NO_POLICY}
        return
    if not rules:
        yield row | {"what": FactKind.PASSED, "rule": PassRule.NO_DATA_PRIVILEGE}
    for index, rule in enumerate(rules):
        container = hierarchy.find_project(rule.attachment) or rule.attachment.removeprefix("projects/")
        rule_row = row | {"object_type": f"{row['file']}:{row['line']}:{index}", "object_key": container}
        if not rule.principals:
            yield rule_row | {"what": FactKind.PASSED, "rule": PassRule.UNCERTAIN}
        for kind, key in rule.principals:
            uncertain = {} if rule.is_certain else {"what": FactKind.PASSED, "rule": PassRule.UNCERTAIN}
            yield rule_row | {"kind": kind, "grantee_key": key, "condition": rule.condition} | uncertain
        for kind, key in rule.exemptions:
            yield rule_row | {"what": FactKind.EXEMPT, "is_counted": False, "kind": kind, "grantee_key": key}


def _build_facts(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    """Return rows as facts; one that is not decided yet is a denial, if its condition holds."""
    schema = ", ".join(f"{name} {type_name}" for name, type_name in FACT_COLUMNS.items())
    facts = spark.createDataFrame([tuple(row.get(name) for name in FACT_COLUMNS) for row in rows], schema)
    state = judge_condition(f.col("condition"))
    rule = (
        f.when(state == ConditionState.EXPIRED, PassRule.EXPIRED)
        .when(state == ConditionState.EARLY, PassRule.NOT_YET_VALID)
        .when(state == ConditionState.UNKNOWN, PassRule.UNCERTAIN)
    )
    is_open = f.col("what").isNull()
    return facts.withColumns(
        {
            "rule": f.when(is_open, rule).otherwise(f.col("rule")),
            "is_counted": f.col("is_counted") & ~(is_open & rule.isNull()),
            "what": f.when(is_open & rule.isNotNull(), FactKind.PASSED)
            .when(is_open, FactKind.DENIAL)
            .otherwise(f.col("what")),
        }
    )
