"""The containers of datasets: by their names, and by what exports tell of places above them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind


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


def list_places(facts: DataFrame, datasets: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return `list_containers` with the folders and organizations that the exports' hierarchies name."""
    containers = list_containers(datasets)
    if not any(export.hierarchy for export in exports):
        return containers
    # A place contains what its projects do.
    places = facts.filter(f.col("what") == FactKind.PLACE).select(
        "export", f.col("object_key").alias("place"), f.col("grantee_key").alias("object_key")
    )
    placed = places.distinct().join(containers, ["export", "object_key"])
    return containers.union(placed.select("export", "number", f.col("place").alias("object_key")))
