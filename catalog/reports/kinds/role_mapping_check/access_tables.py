"""The tables of who can read what: grants beside what the catalog declares, and the holders of roles."""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.source_access import SourceAccess
from catalog.reports.spark.frames import collect_table, run_query
from catalog.reports.spark.job import Job
from catalog.reports.warehouse_tables import ACCESS, HOLDERS, MAX_ACCESS, MAX_LISTED_DATASETS
from catalog.warehouses.grant_facts import SEPARATOR
from catalog.warehouses.levels import LEVEL_NAMES
from catalog.warehouses.principals import describe_principal

_ACCESS_QUERY, _HOLDERS_QUERY = (Path(__file__).with_name(name) for name in ("access.sql", "holders.sql"))
#: What is said of access that the catalog declares without a level.
ANY_LEVEL = "ANY"


def write_access(job: Job, source: SourceAccess, declared_access: DeclaredAccess) -> int:
    """Write who can read what, and who holds which role. Returns of how many datasets all access is listed.

    Those are all where they and their rows are within the limits; else the sensitive ones come first.
    """
    order = [f.desc("is_sensitive"), f.col("urn"), f.col("export")]
    names = declared_access.datasets.select("export", "number", "urn", "is_sensitive")
    first = names.orderBy(*order).limit(MAX_LISTED_DATASETS)
    listed_datasets = first.withColumn("place", f.row_number().over(Window.orderBy(*order)))
    all_tags = "array_join(sort_array(collect_set(tag)), '\n') AS tags"
    frames = {
        "grants": source.reaching_grants,
        "declared": declared_access.role_datasets,
        "listed": listed_datasets,
        "roles": declared_access.roles,
        "people": declared_access.people,
        "tags": declared_access.sensitive_datasets.groupBy("number").agg(f.expr(all_tags)),
    }
    rows = _collect_rows(run_query(job.spark, _ACCESS_QUERY, frames), MAX_ACCESS + 1)
    dataset_count = min(declared_access.datasets.count(), MAX_LISTED_DATASETS)
    if len(rows) > MAX_ACCESS:
        # Of the last dataset some rows may be left out: it counts as not listed.
        dataset_count = rows[-1]["place"] - 1
        rows = [row for row in rows if row["place"] <= dataset_count]
    job.write_rows(ACCESS, [_render_row(row) for row in rows])
    frames |= {
        "members": source.members.get_result(),
        "inherited": source.inherited_roles.get_result(),
        "group_members": declared_access.group_members,
        "existing": source.existing_roles,
    }
    holders = run_query(job.spark, _HOLDERS_QUERY, {name: frames[name] for name in _HOLDER_FRAMES})
    holder_rows = _collect_rows(holders, MAX_ACCESS)
    left_out = holders.count() - len(holder_rows) if len(holder_rows) == MAX_ACCESS else 0
    held_rows = [{name: _describe(value) for name, value in row.items()} for row in holder_rows]
    job.write_rows(HOLDERS, held_rows, left_out=left_out)
    return dataset_count


_HOLDER_FRAMES = ("members", "inherited", "group_members", "existing", "people", "roles")


def _collect_rows(frame: DataFrame, limit: int) -> list[dict[str, Any]]:
    return collect_table(frame.limit(limit)).to_pylist()  # type: ignore[no-any-return]  # of Arrow


def _render_row(row: dict[str, Any]) -> dict[str, Any]:
    declared = None if row["declared_level"] is None else LEVEL_NAMES.get(row["declared_level"], ANY_LEVEL)
    return {
        **row,
        "grantee": _describe(row["grantee"]),
        "through": (row["through"] or "").replace(SEPARATOR, ".").strip() or None,
        "level": LEVEL_NAMES.get(row["level"]),
        "declared": declared,
    }


def _describe(name: str | None) -> str | None:
    return name if name is None or name.startswith("urn:li:") else describe_principal(name)
