"""Compares the declared access of the catalog with that of the sources, by joins only."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check import membership, pair_differences
from catalog.reports.kinds.role_mapping_check.container_access import find_bypasses, find_future_grants
from catalog.reports.kinds.role_mapping_check.coverage import drop_unlisted
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    is_partial,
    select_difference_columns,
)
from catalog.reports.kinds.role_mapping_check.pair_differences import name_types
from catalog.reports.kinds.role_mapping_check.passed_rows import find_passed_access
from catalog.reports.kinds.role_mapping_check.protection import find_open_datasets
from catalog.reports.kinds.role_mapping_check.renames import RoleRenames, find_renames
from catalog.reports.kinds.role_mapping_check.role_pairs import pair_roles_with_datasets
from catalog.reports.kinds.role_mapping_check.source_access import SourceAccess
from catalog.reports.kinds.role_mapping_check.stages import Stages
from catalog.reports.spark.frames import collect_table
from catalog.reports.spark.job_threads import JobTask, JobThreads
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.warehouse import Export


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The result of a comparison: `differences` with DIFFERENCE_COLUMNS, each once, and one more table.

    `reach`: tag, role_urn, declared_level, declared, opened (`pair_differences.count_sensitive_reach`).
    """

    differences: DataFrame
    reach: JobTask[pa.Table]


@dataclass(frozen=True, slots=True)
class _ComparedRoles:
    """The roles of the sources, renamed ones under the names of the catalog.

    `pairs` are those of `pair_roles_with_datasets`, `found_roles` the existing roles by their own names.
    """

    pairs: DataFrame
    found_roles: DataFrame
    existing_roles: DataFrame
    inherited_roles: DataFrame
    members: DataFrame
    renames: RoleRenames | None

    def unite(self, differences: Sequence[DataFrame]) -> DataFrame:
        """Return differences of roles as one frame, with new names."""
        rows = reduce(DataFrame.union, differences)
        return rows if self.renames is None else self.renames.add_new_names(rows)


def compare(
    source: SourceAccess,
    declared_access: DeclaredAccess,
    exports: Sequence[Export],
    *,
    stages: Stages,
    threads: JobThreads,
) -> ComparisonResult:
    """Return the differences between the exports and the catalog."""
    # No role is part of these differences, so that they need not wait for renamed ones.
    open_part = stages.start("differences", lambda: _find_open_access(source, declared_access, exports))
    roles = _compare_roles(source, declared_access, exports, stages)
    pair_part = stages.start("differences", lambda: _find_pair_differences(source, roles, declared_access, exports))
    missing_roles = threads.start(lambda: stages.store("gone", _find_missing_roles(roles, declared_access)))
    accounts = membership.find_accounts(source.facts, exports)
    role_part = stages.start(
        "differences", lambda: _find_role_differences(roles, declared_access, missing_roles.get_result(), accounts)
    )
    member_part = stages.start(
        "differences",
        lambda: _find_member_differences(roles, declared_access, missing_roles.get_result(), accounts, exports),
    )
    reach = threads.start(lambda: collect_table(pair_differences.count_sensitive_reach(roles.pairs, declared_access)))
    parts = [open_part, pair_part, role_part, member_part]
    return ComparisonResult(stages.read_union("differences", parts), reach)


def _compare_roles(
    source: SourceAccess, declared_access: DeclaredAccess, exports: Sequence[Export], stages: Stages
) -> _ComparedRoles:
    # What reaches a part of a table is no access to it as declared.
    role_grants = source.reaching_grants.filter(f"kind = '{Grantee.ROLE}' AND NOT {is_partial(exports)}")
    found_roles, inherited_roles = source.existing_roles, source.inherited_roles.get_result()
    pairs = stages.store(
        "details", pair_roles_with_datasets(role_grants, declared_access, inherited_roles, found_roles, stages.store)
    )
    members = source.members.get_result()
    renames = find_renames(pairs, declared_access, exports)
    if renames is None:
        return _ComparedRoles(pairs, found_roles, found_roles, inherited_roles, members, renames)
    existing_roles = stages.store("existing", renames.rename_existing(found_roles))
    # What a role has through another one is what the source has under that name.
    renamed_pairs = pair_roles_with_datasets(
        role_grants,
        declared_access,
        renames.rename(inherited_roles),
        existing_roles,
        stages.store,
        select=renames.select_renamed,
    )
    return _ComparedRoles(
        pairs=stages.store("renamed", renames.drop_roles(pairs).union(renamed_pairs)),
        found_roles=found_roles,
        existing_roles=existing_roles,
        inherited_roles=renames.rename_inheritance(inherited_roles),
        members=renames.rename(members),
        renames=renames,
    )


def _find_pair_differences(
    source: SourceAccess, roles: _ComparedRoles, declared_access: DeclaredAccess, exports: Sequence[Export]
) -> DataFrame:
    """Return differences about what roles open."""
    pairs = name_types(roles.pairs, declared_access, exports, "object_type", "highest_object_type")
    missing_grants = pair_differences.find_missing_grants(roles.pairs, roles.existing_roles, declared_access)
    differences = [
        drop_unlisted(missing_grants, source.facts, source.survey, declared_access, exports),
        *pair_differences.find_extra_grants(pairs, exports),
        pair_differences.find_wrong_levels(pairs),
    ]
    if source.entries is not None:
        differences.append(source.entries.find_missing(declared_access, roles.existing_roles, exports))
    if any(export.warehouse.partial_privileges for export in exports):
        partial_grants = source.reaching_grants.filter(f"kind = '{Grantee.ROLE}' AND {is_partial(exports)}")
        differences.append(pair_differences.find_partial_grants(partial_grants, declared_access, exports))
    if FactKind.FUTURE in source.survey.fact_kinds:
        user_grants = source.reaching_grants.filter(f"kind = '{Grantee.USER}'")
        differences.append(find_future_grants(source.placed_facts, roles.pairs, user_grants, declared_access, exports))
    return roles.unite(differences)


def _find_missing_roles(roles: _ComparedRoles, declared_access: DeclaredAccess) -> DataFrame:
    """Return (export, role) of the roles that an export should have and does not."""
    return declared_access.expected_roles.join(roles.existing_roles, ROLE_COLUMNS, "left_anti")


def _find_role_differences(
    roles: _ComparedRoles, declared_access: DeclaredAccess, missing_roles: DataFrame, accounts: DataFrame
) -> DataFrame:
    """Return differences about whether roles exist, and under which name."""
    differences = [
        membership.build_missing_roles(missing_roles, declared_access, accounts),
        membership.find_idle_roles(declared_access, roles.existing_roles),
    ]
    if roles.renames is not None:
        differences.append(roles.renames.build_differences(declared_access, roles.found_roles))
    return roles.unite(differences)


def _find_member_differences(
    roles: _ComparedRoles,
    declared_access: DeclaredAccess,
    missing_roles: DataFrame,
    accounts: DataFrame,
    exports: Sequence[Export],
) -> DataFrame:
    """Return differences about the members of roles."""
    return roles.unite(
        membership.compare_members(
            roles.members,
            declared_access,
            roles.inherited_roles,
            roles.existing_roles,
            missing_roles,
            accounts,
            exports,
        )
    )


def _find_open_access(source: SourceAccess, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return differences about what is open besides roles, or may be."""
    differences = [
        find_passed_access(source.placed_facts, declared_access, exports),
        select_difference_columns(
            declared_access.uncovered_datasets,
            type=f"'{DifferenceType.SENSITIVE_WITHOUT_ROLE}'",
            severity=f"'{DifferenceSeverity.HIGH}'",
            entity="urn",
        ),
        find_open_datasets(source.policies.get_result(), source.reaching_grants, declared_access, exports),
    ]
    if source.survey.has_user_grants:
        user_grants = source.reaching_grants.filter(f"kind = '{Grantee.USER}'")
        user_grants = name_types(user_grants, declared_access, exports, "object_type")
        differences.append(pair_differences.find_direct_grants(user_grants, declared_access, exports))
    if source.survey.fact_kinds & {FactKind.BYPASS, FactKind.POLICY}:
        policies = source.policies.get_result()
        bypasses = find_bypasses(source.placed_facts, source.reaching_grants, policies, declared_access, exports)
        differences.append(bypasses)
    return reduce(DataFrame.union, differences)
