"""The containers of datasets: by their names, and by what exports tell of places above them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.warehouse import Export


def list_containers(datasets: DataFrame) -> DataFrame:
    """Return (export, number, object_key): each dataset in each of its containers, by the container's key."""
    # The containers of a dataset are the prefixes of its name, one for each part but the last.
    parts = "split(key, '[.]')"
    keys = f"transform(sequence(1, size({parts}) - 1), count -> array_join(slice({parts}, 1, count), '.'))"
    return datasets.filter(f"size({parts}) > 1").selectExpr("export", "number", f"explode({keys}) AS object_key")


def list_places(facts: DataFrame, datasets: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return `list_containers` with the folders and organizations that the exports' hierarchies name."""
    containers = list_containers(datasets)
    if not any(export.hierarchy for export in exports):
        return containers
    # A place contains what its projects do.
    places = facts.filter(f"what = '{FactKind.PLACE}'").selectExpr(
        "export", "object_key AS place", "grantee_key AS object_key"
    )
    placed = places.distinct().join(containers, ["export", "object_key"])
    return containers.union(placed.selectExpr("export", "number", "place AS object_key"))
