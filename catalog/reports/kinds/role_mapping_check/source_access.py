"""Access that the exports give: which grants reach which datasets, the roles, their members, and policies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check import membership
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.entries import Entries, find_entries
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey, survey_facts
from catalog.reports.kinds.role_mapping_check.known_exports import check_known
from catalog.reports.kinds.role_mapping_check.protection import find_policies
from catalog.reports.kinds.role_mapping_check.reach import find_reach
from catalog.reports.kinds.role_mapping_check.role_closure import compute_role_closure
from catalog.reports.kinds.role_mapping_check.run_inputs import check_headers, check_readable
from catalog.reports.kinds.role_mapping_check.stages import Stages
from catalog.reports.spark.job_threads import JobTask, JobThreads
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.warehouse import Export


def read_surveyed_facts(
    read_facts: Callable[[Export], DataFrame], exports: Sequence[Export], stages: Stages
) -> tuple[DataFrame, FactSurvey]:
    """Return the facts of all exports, and their survey. Raises UnreadableExports."""
    parts = {export.name: stages.start("facts", partial(read_facts, export)) for export in exports}
    check_readable(parts)
    facts = stages.read_union("facts", list(parts.values()))
    survey = survey_facts(facts)
    check_headers(survey.blocks)
    return survey.select_facts(facts), survey


@dataclass(frozen=True, slots=True)
class SourceAccess:
    """Access that the exports give.

    - `facts`, and their `survey`.
    - `members`: as `membership.select_members`. `inherited_roles`: as `compute_role_closure`.
    - `existing_roles`: export, role, role_name.
    - `grants`: a row for each grant and each dataset of the catalog that it reaches, as `find_reach`.
    - `policies`: the masks and row filters on datasets of the catalog, as `find_policies`.
    - `entries`: who gets into which container, None where nothing is closed to anybody.
    """

    facts: DataFrame
    survey: FactSurvey
    members: JobTask[DataFrame]
    inherited_roles: JobTask[DataFrame]
    existing_roles: DataFrame
    grants: DataFrame
    policies: JobTask[DataFrame]
    entries: Entries | None

    @property
    def placed_facts(self) -> DataFrame:
        """The facts with the numbers of their places."""
        return self.survey.line_numbers.add_places(self.facts)

    @property
    def reaching_grants(self) -> DataFrame:
        """The grants that reach a dataset."""
        return self.grants.filter("number IS NOT NULL")


def find_source_access(
    facts: DataFrame,
    survey: FactSurvey,
    read_declared: Callable[[], DeclaredAccess],
    exports: Sequence[Export],
    *,
    stages: Stages,
    threads: JobThreads,
) -> SourceAccess:
    """Return the access that the exports give; `facts` are read more than once.

    `survey` is that of the facts. `read_declared` is called when what the facts say alone is known. Raises
    UnreadableExports when the catalog knows nothing of an export.
    """
    placed_facts = survey.line_numbers.add_places(facts)
    members = threads.start(lambda: stages.store("held", membership.select_members(placed_facts)))
    has_no_inheritance = FactKind.INHERIT not in survey.fact_kinds
    inherited_roles = threads.start(
        lambda: compute_role_closure(placed_facts, stages.store, is_empty=has_no_inheritance)
    )
    existing_roles = stages.store("there", membership.find_existing_roles(facts))
    declared_access = read_declared()

    def find_dataset_policies() -> DataFrame:
        policies = find_policies(facts, declared_access)
        return stages.store("policies", policies) if FactKind.POLICY in survey.fact_kinds else policies.limit(0)

    policies = threads.start(find_dataset_policies)
    entries = None
    if FactKind.ENTRY in survey.fact_kinds:
        held_roles = members.get_result(), inherited_roles.get_result()
        entries = find_entries(facts, *held_roles, declared_access, exports, stages.store)
    grants = stages.store("granted", find_reach(facts, survey, declared_access, exports, stages.store, entries))
    check_known(existing_roles, grants, declared_access.roles, exports)
    return SourceAccess(facts, survey, members, inherited_roles, existing_roles, grants, policies, entries)
