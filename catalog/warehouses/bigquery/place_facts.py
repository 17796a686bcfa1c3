"""Facts of the hierarchy and of deny policies: which project is in which place, and who may not read there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses.bigquery.conditions import ConditionState, judge_condition
from catalog.warehouses.bigquery.denials import DenyRule, parse_denials
from catalog.warehouses.bigquery.hierarchy import (
    BadLine,
    Hierarchy,
    HierarchyNode,
    build_hierarchy,
    parse_node,
)
from catalog.warehouses.files.lines import LINE_COLUMNS, read_lines
from catalog.warehouses.grant_facts import FACT_COLUMNS, FactKind
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.row_facts import MAX_ROW_LENGTH
from catalog.warehouses.warehouse import Export

Row = dict[str, Any]
#: The rules that pass a deny rule by the state of its condition; in any other state it is applied, or not understood.
_STATE_RULES: Mapping[ConditionState, PassRule] = {
    ConditionState.EXPIRED: PassRule.EXPIRED,
    ConditionState.EARLY: PassRule.NOT_YET_VALID,
    ConditionState.OUTSIDE: PassRule.OUTSIDE_CONDITION,
    # Google knows conditions about tags alone there.
    ConditionState.BY_NAME: PassRule.UNCERTAIN,
    ConditionState.UNKNOWN: PassRule.UNCERTAIN,
}


@dataclass(frozen=True, slots=True)
class Places:
    """`names`: known_as (a place that is no identifier of a project), known_project, is_known; facts of the files."""

    names: DataFrame
    facts: Sequence[DataFrame]


def read_places(spark: SparkSession, folder: str, export: Export, now: datetime) -> Places:
    """Return the places of the hierarchy, and the facts of it and of deny policies, as many as projects and folders."""
    node_rows = _read_rows(spark, folder, export, export.hierarchy)
    nodes = [node for row in node_rows if (node := _read_node(row))]
    hierarchy = build_hierarchy(nodes)
    rows = [*node_rows, *_list_place_facts(export, hierarchy)]
    for row in _read_rows(spark, folder, export, export.denies):
        rows += _list_denial_facts(export, hierarchy, row, now)
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


def _read_node(row: Row) -> HierarchyNode | None:
    """Return the project or folder of a row without an outcome, and give the row its outcome."""
    if row["what"]:
        return None
    try:
        node = parse_node(row["object"])
    except BadLine as error:
        row |= {"what": FactKind.BAD, "reason": str(error)}
        return None
    row |= {"what": FactKind.PLACE, "is_counted": False}
    return node


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


def _list_denial_facts(export: Export, hierarchy: Hierarchy, row: Row, now: datetime) -> Iterator[Row]:
    """Yield a fact for each principal that each rule of a line denies or exempts; those that are not used are rows."""
    if row["what"]:
        yield row
        return
    try:
        rules = parse_denials(export, row["object"])
    except BadLine as error:
        yield row | {"what": FactKind.BAD, "reason": str(error)}
        return
    if not rules:
        yield row | {"what": FactKind.PASSED, "rule": PassRule.NO_DATA_PRIVILEGE}
    for index, rule in enumerate(rules):
        container = hierarchy.find_project(rule.attachment) or rule.attachment.removeprefix("projects/")
        names = {"object_type": f"{row['file']}:{row['line']}:{index}", "object_key": container, "is_container": True}
        outcome = _decide_outcome(rule, now)
        if outcome or not rule.principals:
            yield row | names | (outcome or {"what": FactKind.PASSED, "rule": PassRule.UNCERTAIN})
            continue
        rule_row = row | names | {"is_counted": False, "bit": _sum_bits(export, rule.level)}
        yield from (
            rule_row | {"what": FactKind.DENIAL, "kind": kind, "grantee_key": key} for kind, key in rule.principals
        )
        yield from (
            rule_row | {"what": FactKind.EXEMPT, "kind": kind, "grantee_key": key} for kind, key in rule.exemptions
        )


def _sum_bits(export: Export, level: int) -> int:
    """Return the bits of the privileges up to a level."""
    return sum(1 << index for index, reached in enumerate(export.vocabulary.values()) if reached <= level)


def _decide_outcome(rule: DenyRule, now: datetime) -> Row:
    """Return why a deny rule is not applied, nothing where it is."""
    judgement = judge_condition(rule.condition, now)
    if judgement.state == ConditionState.BAD:
        return {"what": FactKind.BAD, "reason": judgement.problem}
    pass_rule = _STATE_RULES.get(judgement.state) or (None if rule.is_certain else PassRule.UNCERTAIN)
    return {"what": FactKind.PASSED, "rule": pass_rule} if pass_rule else {}


def _build_facts(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    schema = ", ".join(f"{name} {type_name}" for name, type_name in FACT_COLUMNS.items())
    # A line gives many facts, and its text is for people.
    rows = [row | {"object": (row.get("object") or "")[:MAX_ROW_LENGTH] or None} for row in rows]
    return spark.createDataFrame([tuple(row.get(name) for name in FACT_COLUMNS) for row in rows], schema)
