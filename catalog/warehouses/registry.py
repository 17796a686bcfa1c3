"""The warehouses that there are: those that ship, and those of other packages.

A package adds a system by an entry point of the group `authzsite.warehouses` that names a `Warehouse`. It cannot take
the name of one that ships.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points

from catalog.warehouses.bigquery.description import BIGQUERY
from catalog.warehouses.databricks.description import DATABRICKS
from catalog.warehouses.plain.description import PLAIN
from catalog.warehouses.postgres.description import POSTGRES
from catalog.warehouses.redshift.description import REDSHIFT
from catalog.warehouses.snowflake.description import SNOWFLAKE
from catalog.warehouses.trino.description import TRINO
from catalog.warehouses.warehouse import BadExports, Dialect, Warehouse

ENTRY_POINT_GROUP = "authzsite.warehouses"

_SHIPPED = (SNOWFLAKE, BIGQUERY, DATABRICKS, REDSHIFT, POSTGRES, TRINO, PLAIN)


@cache
def list_warehouses() -> Mapping[str, Warehouse]:
    """Return the warehouses by their names. Raises BadExports when a package adds something else, or a known name."""
    warehouses = {warehouse.name: warehouse for warehouse in _SHIPPED}
    for entry_point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda entry_point: entry_point.name):
        warehouse = entry_point.load()
        if not isinstance(warehouse, Warehouse):
            raise BadExports(f"{entry_point.value} of {ENTRY_POINT_GROUP} is no Warehouse.")
        if warehouse.name in warehouses:
            raise BadExports(
                f"{entry_point.value} of {ENTRY_POINT_GROUP} has the name {warehouse.name}, as another has."
            )
        warehouses[warehouse.name] = warehouse
    return warehouses


@cache
def list_dialects() -> Mapping[str, Dialect]:
    """Return the dialects of repairs by their names."""
    return {
        warehouse.dialect.name: warehouse.dialect
        for warehouse in list_warehouses().values()
        if warehouse.dialect is not None
    }
