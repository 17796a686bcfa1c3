"""Which datasets of the catalog the grants of exports reach, directly or through a container."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_PLACE_COLUMNS = ("file", "block", "line", "is_counted")


def find_reach(facts: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return each grant with the datasets that it reaches: export, number, kind, grantee …, `at` the container.

    A grant that reaches no dataset is one row with the `rule` that passes it and its place in the files; all others
    have none of these. `datasets` has export, number and key.
    """
    grants = facts.filter(f.col("what") == FactKind.GRANT)
    keys = datasets.select("export", "number", "key")
    table_grants = grants.filter("NOT is_container").join(
        keys.withColumnRenamed("key", "object_key"), ["export", "object_key"], "left"
    )
    container_grants = grants.filter("is_container").join(list_containers(keys), ["export", "object_key"], "left")
    columns = ["export", "number", "kind", "grantee_key", "grantee", "bit", "level", "object"]
    is_unknown = f.col("number").isNull()
    places = [f.when(is_unknown, f.col(name)).alias(name) for name in _PLACE_COLUMNS]
    return table_grants.select(
        *columns, f.lit("").alias("at"), f.when(is_unknown, PassRule.UNKNOWN_TABLE).alias("rule"), *places
    ).union(
        container_grants.select(
            *columns,
            f.col("object").alias("at"),
            f.when(is_unknown, PassRule.UNKNOWN_CONTAINER).alias("rule"),
            *places,
        )
    )


def list_containers(datasets: DataFrame) -> DataFrame:
    """Return (export, number, object_key): each dataset in each of its containers, by the container's key."""
    # The containers of a dataset are the prefixes of its name, one for each part but the last.
    name_parts = f.split("key", "[.]")
    container_keys = f.transform(
        f.sequence(f.lit(1), f.size(name_parts) - 1),
        lambda size: f.array_join(f.slice(name_parts, f.lit(1), size), "."),
    )
    return datasets.filter(f.size(name_parts) > 1).select(
        "export", "number", f.explode(container_keys).alias("object_key")
    )
