"""The roles of roles, and the groups of groups, at any depth."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.warehouses.grant_facts import FactKind

#: Of several ways to a role the simplest one counts, which has no condition.
_CONDITION = "nullif(min(coalesce({}, '')), '') AS given_condition"
_TOTALS = ("min(given_name) AS given_name", _CONDITION.format("given_condition"), "min(hop) AS hop")


def compute_role_closure(facts: DataFrame, stage: Stage, *, is_empty: bool = False) -> DataFrame:
    """Return the closure of role inheritance: export, role, given, given_name (`role` has all that `given` has).

    `given_condition` is how, null where `role` simply has it. `hop` is the place of the row by which the role has
    `given`, or the first of the roles between them; null where facts have no place. `is_empty` says that no fact is
    about inheritance.

    Each iteration doubles the distance, so a chain of a thousand roles takes ten; circles end as well, in which each
    role has all that the others have.
    """
    edges = facts.filter(f"what = '{FactKind.INHERIT}' AND grantee_key <> object_key")
    keys = ("export", "grantee_key AS role", "object_key AS given")
    hop = "min(place) AS hop" if "place" in facts.columns else "CAST(NULL AS bigint) AS hop"
    totals = ("min(object) AS given_name", _CONDITION.format("condition"), hop)
    pairs = edges.groupBy(*map(f.expr, keys)).agg(*map(f.expr, totals))
    if is_empty:
        # Spark knows that this is empty, and drops the joins with it.
        return pairs.limit(0)
    pairs = stage("closure", pairs)
    previous_count, pair_count = 0, pairs.count()
    if not pair_count:
        return pairs.limit(0)
    while pair_count > previous_count:
        left, right = pairs.alias("one"), pairs.alias("other")
        is_next = f.expr("one.export = other.export AND one.given = other.role AND one.role <> other.given")
        columns = ("one.export", "one.role", "other.given", "other.given_name")
        condition = "coalesce(one.given_condition, other.given_condition)"
        pairs = pairs.union(left.join(right, is_next).selectExpr(*columns, condition, "one.hop"))
        pairs = pairs.groupBy("export", "role", "given").agg(*map(f.expr, _TOTALS))
        pairs = stage("closure", pairs)
        previous_count, pair_count = pair_count, pairs.count()
    return pairs


def find_circles(facts: DataFrame, inherited_roles: DataFrame) -> DataFrame:
    """Return the facts of inheritance between roles that have each other, by the closure of it."""
    back = inherited_roles.selectExpr("export", "given AS grantee_key", "role AS object_key")
    return facts.filter(f"what = '{FactKind.INHERIT}'").join(back, ["export", "grantee_key", "object_key"], "left_semi")
