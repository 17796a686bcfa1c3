"""Job of warehouse usage: joins the history of access of the exports with their grants, roles and members.

The snapshot has what that of the role mapping check has, and the lineage of datasets.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import declared, membership, readers
from catalog.reports.kinds.role_mapping_check.blocks import Block, LineNumbers, collect_surveyed_blocks
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.entries import find_entries
from catalog.reports.kinds.role_mapping_check.reach import find_reach
from catalog.reports.kinds.role_mapping_check.readers import read_history
from catalog.reports.kinds.role_mapping_check.role_closure import compute_role_closure
from catalog.reports.kinds.role_mapping_check.run_inputs import (
    check_headers,
    check_readable,
    compare_readable,
    compute_in_stages,
    list_inputs,
    read_exports,
)
from catalog.reports.kinds.role_mapping_check.source_access import read_surveyed_facts
from catalog.reports.kinds.role_mapping_check.stages import Stages
from catalog.reports.kinds.warehouse_usage import attribution, proposals, result_rows, results, undeclared, uses
from catalog.reports.kinds.warehouse_usage.attribution import HeldAccess
from catalog.reports.kinds.warehouse_usage.uses import HistoryCoverage
from catalog.reports.spark.job import Job, JobProgram, print_progress
from catalog.reports.spark.job_threads import JobThreads
from catalog.reports.summary import Summary
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.warehouse import Export


def compute_results(job: Job) -> Summary:
    """Join, write every table and return the summary. Raises BadInput."""
    return compute_in_stages(job, _join_exports)


@dataclass(frozen=True, slots=True)
class _ReadUses:
    """The content of the files of the exports: `history` with its `blocks`, and the `access` that they give."""

    exports: Sequence[Export]
    history: DataFrame
    blocks: Sequence[Block]
    declared_access: DeclaredAccess
    access: HeldAccess


def _join_exports(job: Job, stages: Stages, threads: JobThreads) -> Summary:
    stage = stages.store
    print_progress("Reading the exports of grants")
    folder, all_exports = read_exports(job)
    days: int = job.parameters["days"]

    def read_uses(exports: list[Export]) -> list[Export] | _ReadUses:
        watched_exports = [export for export in exports if export.usage]
        return _read_uses(job, folder, watched_exports, stages, threads) if watched_exports else exports

    read, uncompared = compare_readable(job, all_exports, read_uses)
    exports = [export for export in all_exports if export.name not in uncompared]
    if not isinstance(read, _ReadUses):
        coverages = [uses.build_coverage(export, {}, days) for export in exports]
        return result_rows.write_nothing(job, all_exports, coverages, uncompared)
    declared_access = read.declared_access
    print_progress("Comparing with the catalog", 1, 4)
    numbers = LineNumbers(read.blocks)
    touched = stage("touched", numbers.add_places(uses.find_touched(read.history, declared_access.datasets)))
    rows = stage("rows", uses.pass_unknown_tables(read.history, touched))
    coverages = uses.measure_coverage(rows, exports, days=days)
    recent_uses = stage("uses", uses.select_recent_uses(touched, coverages, days=days))
    recent_uses = uses.add_views(recent_uses, _read_lineage(job), read.exports, stage)
    print_progress("Joining with grants and members", 2, 4)
    usage = _judge_access(read.access, declared_access, recent_uses, coverages, read.exports, stage, threads, days=days)
    print_progress("Writing the findings", 3, 4)
    summary = result_rows.write_results(job, usage, all_exports, rows, read.blocks, threads, uncompared)
    print_progress("Done", 4, 4)
    return summary


def _read_uses(job: Job, folder: str, exports: Sequence[Export], stages: Stages, threads: JobThreads) -> _ReadUses:
    """Return what the files of exports with a history say. Raises UnreadableExports."""
    stage, read_facts = stages.store, partial(readers.read_facts, job.spark, folder)
    declared_task = threads.start(
        lambda: declared.read(job.read_frame, exports, tags=job.parameters["tags"], stage=stage, threads=threads)
    )
    access_task = threads.start(lambda: _read_access(read_facts, declared_task.get_result, exports, stages, threads))
    parts = {export.name: threads.start(partial(read_history, job.spark, folder, export)) for export in exports}
    check_readable(parts)
    history = stage("history", reduce(DataFrame.union, (part.get_result() for part in parts.values())))
    blocks = collect_surveyed_blocks(history)
    check_headers(blocks)
    return _ReadUses(exports, history, blocks, declared_task.get_result(), access_task.get_result())


def _read_access(
    read_facts: Callable[[Export], DataFrame],
    read_declared: Callable[[], DeclaredAccess],
    exports: Sequence[Export],
    stages: Stages,
    threads: JobThreads,
) -> HeldAccess:
    """Return the grants and members of the exports; `read_declared` is called after these. Raises UnreadableExports."""
    stage = stages.store
    facts, survey = read_surveyed_facts(read_facts, exports, stages)
    placed_facts = survey.line_numbers.add_places(facts)
    has_no_inheritance = FactKind.INHERIT not in survey.fact_kinds
    inherited_roles = threads.start(lambda: compute_role_closure(facts, stage, is_empty=has_no_inheritance))
    members = threads.start(lambda: stage("held", membership.select_members(placed_facts)))
    declared_access = read_declared()
    entries = None
    if FactKind.ENTRY in survey.fact_kinds:
        held_roles = members.get_result(), inherited_roles.get_result()
        entries = find_entries(facts, *held_roles, declared_access, exports, stage)
    reach = find_reach(facts, survey, declared_access, exports, stage, entries)
    return HeldAccess(
        grants=stage("granted", reach.filter("number IS NOT NULL")),
        members=members.get_result(),
        inherited_roles=inherited_roles.get_result(),
        group_members=declared_access.group_members,
        facts=facts,
        survey=survey,
    )


def _read_lineage(job: Job) -> DataFrame:
    """Return (number, above): a dataset, and one that is made from it."""
    entities = job.read_frame("entities").selectExpr("number", "urn AS value")
    upstream = job.read_frame("facets").filter("field = 'UPSTREAM'").selectExpr("entity AS above", "value")
    return upstream.join(entities, "value").select("number", "above")


def _judge_access(
    access: HeldAccess,
    declared_access: DeclaredAccess,
    recent_uses: DataFrame,
    coverages: Sequence[HistoryCoverage],
    exports: Sequence[Export],
    stage: Stage,
    threads: JobThreads,
    *,
    days: int,
) -> results.UsageResults:
    undeclared_uses = threads.start(
        lambda: stage("undeclared", undeclared.find_undeclared_uses(recent_uses, declared_access, exports))
    )
    hits = stage("hits", attribution.find_hits(recent_uses, access, exports, stage, threads))

    def find_used_members() -> DataFrame:
        used_members = attribution.find_used_members(hits, access, stage).join(
            access.members, ["export", "role", "kind", "member_key"]
        )
        # A person either used what a membership opens, or did not, whatever others do.
        used_members = used_members.withColumn("is_uncertain", f.expr("false"))
        used_members = uses.mark_young(used_members, coverages, days=days)
        return stage("memberships", attribution.select_judged_members(used_members, exports))

    used_members = threads.start(find_used_members)
    judged_grants = attribution.select_judged_grants(uses.mark_young(access.grants, coverages, days=days), exports)
    is_sure = results.is_sure(coverages)
    uncertain_roles = stage("uncertain", attribution.find_uncertain_roles(recent_uses, hits, access))
    sure_hits = hits.filter(is_sure)
    sure_grants = judged_grants.filter(is_sure).join(
        uncertain_roles.drop("is_uncertain"), ["export", "kind", "grantee_key"], "left_anti"
    )
    pairs = threads.start(lambda: stage("pairs", proposals.select_pairs(sure_grants, sure_hits)))
    losses = threads.start(lambda: proposals.count_losses(sure_hits, access, sure_grants, stage))
    used_grants = stage(
        "used",
        attribution.find_used_grants(judged_grants, recent_uses, hits, uncertain_roles, declared_access),
    )

    def propose_grants() -> DataFrame:
        proposed = proposals.propose_grants(
            used_grants.filter(f"{is_sure} AND NOT is_uncertain"), sure_hits, pairs.get_result(), declared_access, stage
        )
        return stage("proposed", proposed)

    return results.UsageResults(
        exports=exports,
        access=access,
        coverages=coverages,
        declared_access=declared_access,
        used_grants=used_grants,
        used_members=used_members,
        undeclared_uses=undeclared_uses,
        proposed_grants=threads.start(propose_grants),
        uses=recent_uses,
        hits=hits,
        losses=losses,
    )


PROGRAM = JobProgram("warehouse_usage", compute_results, has_joins=True, list_inputs=list_inputs)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
