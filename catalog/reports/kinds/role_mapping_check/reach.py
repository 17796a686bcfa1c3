"""Which datasets of the catalog the grants of exports reach, directly or through a container."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.containers import list_places
from catalog.reports.kinds.role_mapping_check.denials import drop_denied_grants
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule

#: What a grant tells of its object.
OBJECT_COLUMNS = ("object", "object_type", "condition")

_PLACE_COLUMNS = ("file", "block", "line", "is_counted")


def find_reach(facts: DataFrame, datasets: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return each grant with the datasets that it reaches: export, number, kind, grantee …, `at` the container.

    What a deny policy takes away is left out. A grant that reaches no dataset is one row with the `rule` that passes it
    and its place in the files; all others have none of these. `datasets` has export, number and key.
    """
    grants = facts.filter(f.col("what") == FactKind.GRANT)
    keys = datasets.select("export", "number", "key")
    containers = list_places(facts, keys, exports)
    table_grants = grants.filter("NOT is_container").join(
        keys.withColumnRenamed("key", "object_key"), ["export", "object_key"], "left"
    )
    container_grants = grants.filter("is_container").join(containers, ["export", "object_key"], "left")
    columns = ["export", "number", "kind", "grantee_key", "grantee", "bit", "level", *OBJECT_COLUMNS]
    is_unknown = f.col("number").isNull()
    places = [f.when(is_unknown, f.col(name)).alias(name) for name in _PLACE_COLUMNS]
    reach = table_grants.select(
        *columns, f.lit("").alias("at"), f.when(is_unknown, PassRule.UNKNOWN_TABLE).alias("rule"), *places
    ).union(
        container_grants.select(
            *columns,
            f.col("object").alias("at"),
            f.when(is_unknown, PassRule.UNKNOWN_CONTAINER).alias("rule"),
            *places,
        )
    )
    # Grants without a dataset stay: a number that is null equals none.
    return drop_denied_grants(facts, reach, containers, exports)
