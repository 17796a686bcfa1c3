"""The connectors that there are, by the names of their warehouses. No Spark, so that Django may use them."""

from collections.abc import Mapping

from catalog.warehouses.connector import Connector
from catalog.warehouses.postgres.connector import PostgresConnector

CONNECTORS: Mapping[str, Connector] = {connector.warehouse: connector for connector in (PostgresConnector(),)}
