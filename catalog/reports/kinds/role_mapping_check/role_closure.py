"""What roles have through other roles, and groups through groups, at any depth."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind


def compute_role_closure(facts: DataFrame, stage: Stage, *, is_empty: bool = False) -> DataFrame:
    """Return the closure of role inheritance: export, role, given, given_name (`role` has all that `given` has).

    `is_empty` says that no fact is about inheritance.

    Each iteration doubles the distance, so a chain of a thousand roles takes ten; cycles end as well.
    """
    edges = facts.filter(f.col("what") == FactKind.INHERIT)
    inheritance = edges.select(
        "export", f.col("grantee_key").alias("role"), f.col("object_key").alias("given"), f.col("object").alias("name")
    )
    pairs = (
        inheritance.filter("role <> given").groupBy("export", "role", "given").agg(f.min("name").alias("given_name"))
    )
    if is_empty:
        # Spark knows that this is empty, and drops the joins with it.
        return pairs.limit(0)
    pairs = stage("closure", pairs)
    previous_count, pair_count = 0, pairs.count()
    if not pair_count:
        return pairs.limit(0)
    while pair_count > previous_count:
        left, right = pairs.alias("one"), pairs.alias("other")
        is_next = (f.col("one.export") == f.col("other.export")) & (f.col("one.given") == f.col("other.role"))
        longer_pairs = left.join(right, is_next).select("one.export", "one.role", "other.given", "other.given_name")
        pairs = pairs.union(longer_pairs.filter("role <> given"))
        pairs = pairs.groupBy("export", "role", "given").agg(f.min("given_name").alias("given_name"))
        pairs = stage("closure", pairs)
        previous_count, pair_count = pair_count, pairs.count()
    return pairs
