"""Differences about containers as a whole: privileges on what is made in them, and filters that do not hold in them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.containers import list_containers
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    DATASETS,
    DETAILS,
    JOINED_PLACES,
    PLACES,
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    is_ignored_person,
    is_named_role,
    is_ownership,
    rank_datasets,
    same_named_columns,
    select_difference_columns,
)
from catalog.sql_text import is_among
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.warehouse import Export

_HOLDER = ["export", "kind", "grantee_key"]


def find_future_grants(
    facts: DataFrame,
    pairs: DataFrame,
    user_grants: DataFrame,
    declared_access: DeclaredAccess,
    exports: Sequence[Export],
) -> DataFrame:
    """Return a difference for each privilege on future tables that would give again what is to be taken now.

    These are the privileges of a grantee on a container in which it has more than the catalog says. `pairs` are those
    of `pair_roles_with_datasets`, `user_grants` what users reach without a role.
    """
    excess = pairs.filter("level IS NOT NULL AND (NOT is_said OR level > declared_level)")
    said_level = "CASE WHEN is_said THEN declared_level END"
    excess = excess.selectExpr("export", f"'{Grantee.ROLE}' AS kind", "role AS grantee_key", "number", said_level)
    excess = excess.toDF(*_HOLDER, "number", "declared_level").union(
        user_grants.selectExpr(*_HOLDER, "number", "CAST(NULL AS int)")
    )
    places = excess.join(list_containers(declared_access.datasets), ["export", "number"])
    names = declared_access.datasets.selectExpr("export", "number", "urn", "name", "is_sensitive")
    places = rank_datasets(places.join(names, ["export", "number"]), [*_HOLDER, "object_key"], "urn")
    # A role may have what the catalog says of it on all that is made, unless the catalog does not name it on a table.
    places = places.groupBy(*_HOLDER, "object_key").agg(
        *map(f.expr, ("min(coalesce(declared_level, 0)) AS declared_level", DATASETS))
    )
    rows = facts.filter(f"what = '{FactKind.FUTURE}'").join(places, [*_HOLDER, "object_key"])
    rows = _drop_ignored(rows.filter("level > declared_level"), exports)
    totals = ("min(grantee) AS grantee", "bit_or(bit) AS bits", "max(level) AS level", "min(object) AS object", DETAILS)
    rows = rows.groupBy(*_HOLDER, "object_key").agg(*map(f.expr, (*totals, PLACES, "min(datasets) AS datasets")))
    return select_difference_columns(
        _name_holders(rows, declared_access),
        type=f"'{DifferenceType.FUTURE_GRANT}'",
        severity=f"'{DifferenceSeverity.MEDIUM}'",
        **same_named_columns(
            *("export", "role", "role_urn", "actor", "kind", "grantee", "object", "bits", "level", "details"),
            *("is_known", "datasets"),
        ),
        places=JOINED_PLACES,
    )


def find_bypasses(
    facts: DataFrame,
    grants: DataFrame,
    policies: DataFrame,
    declared_access: DeclaredAccess,
    exports: Sequence[Export],
) -> DataFrame:
    """Return a difference for each grantee whom no row filter on sensitive datasets binds, owners among them.

    `grants` are those that reach a dataset. In exports with `policies` only datasets that have one count; of the others
    nobody said which filters there are.
    """
    bypasses = facts.filter(f"what = '{FactKind.BYPASS}'").selectExpr(
        *_HOLDER, "grantee", "object", "object_key", "place"
    )
    datasets = declared_access.datasets.filter("is_sensitive")
    sparing = policies.filter("spares_owner").selectExpr("export", "number").distinct()
    owners = grants.filter(f"{is_ownership(exports)} AND at = ''").join(sparing, ["export", "number"])
    owners = owners.join(datasets.selectExpr("export", "number", "key AS object_key"), ["export", "number"])
    owned = owners.selectExpr("export", "number", "object_key").distinct()
    rows = _drop_ignored(bypasses.union(owners.selectExpr(*bypasses.columns)), exports)
    is_asked = is_among("export", [export.name for export in exports if export.policies])
    filtered = policies.selectExpr("export", "number", "true AS has_policy").distinct()
    datasets = datasets.join(filtered, ["export", "number"], "left").filter(f"has_policy OR NOT {is_asked}")
    names = datasets.selectExpr("export", "number", "urn", "name", "is_sensitive")
    places = list_containers(datasets).selectExpr("export", "number", "object_key").union(owned)
    rows = rows.join(places, ["export", "object_key"]).join(names, ["export", "number"])
    rows = rank_datasets(rows, [*_HOLDER, "object_key"], "urn")
    totals = ("min(grantee) AS grantee", "min(object) AS object", "count(DISTINCT number) AS count", PLACES, DATASETS)
    rows = rows.groupBy(*_HOLDER, "object_key").agg(*map(f.expr, totals))
    return select_difference_columns(
        _name_holders(rows, declared_access),
        type=f"'{DifferenceType.POLICIES_BYPASSED}'",
        severity=f"'{DifferenceSeverity.HIGH}'",
        **same_named_columns("export", "role", "role_urn", "actor", "kind", "grantee", "object", "count"),
        **same_named_columns("is_known", "datasets"),
        places=JOINED_PLACES,
    )


def _drop_ignored(rows: DataFrame, exports: Sequence[Export]) -> DataFrame:
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    rows = rows.withColumn("role", f.expr(f"CASE WHEN kind = '{Grantee.ROLE}' THEN grantee_key END"))
    is_person = f"kind = '{Grantee.USER}' AND {is_ignored_person(exports, 'grantee_key')}"
    return rows.filter(f"NOT (coalesce({is_ignored}, false) OR {is_person})").drop("role")


def _name_holders(rows: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return rows with `role` and `role_urn` of roles, and `actor` of people."""
    role, is_person = f"kind = '{Grantee.ROLE}'", f"kind = '{Grantee.USER}'"
    rows = rows.withColumns(
        {
            "role": f.expr(f"CASE WHEN {role} THEN grantee_key END"),
            "member_key": f.expr(f"CASE WHEN {is_person} THEN grantee_key END"),
        }
    )
    roles = declared_access.roles.selectExpr(ROLE_COLUMNS[1], "role_urn")
    rows = rows.join(roles, "role", "left").join(declared_access.people, "member_key", "left")
    actor = f"CASE WHEN {is_person} THEN coalesce(urn, concat('urn:li:corpuser:', member_key)) END"
    return rows.withColumns({"actor": f.expr(actor), "is_known": f.expr("urn IS NOT NULL")})
