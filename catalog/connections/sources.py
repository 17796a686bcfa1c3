"""The connections that the environment names, and their DSNs, which are read when they are used and never kept."""

import os
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from catalog.warehouses.connector import Address, Connector, ConnectorProblem
from catalog.warehouses.connectors import CONNECTORS
from policies.errors import NotFound

_FILE_SUFFIX = "_FILE"
_MAX_DSN_BYTES = 4096


@dataclass(frozen=True, slots=True)
class WarehouseConnection:
    """One connection: its name, its system, and the variables that have its DSNs, or name files with them."""

    name: str
    system: str
    read_variable: str
    apply_variable: str = ""

    @property
    def connector(self) -> Connector:
        """The connector of its system. Raises ConnectorProblem where there is none."""
        if self.system not in CONNECTORS:
            raise ConnectorProblem(f"{self.read_variable}: {self.system} is none of {', '.join(CONNECTORS)}.")
        return CONNECTORS[self.system]

    def describe_address(self) -> Address:
        """Return where it leads, without secrets. Raises ConnectorProblem."""
        return self.connector.describe_address(read_dsn(self.read_variable))


def list_connections() -> list[WarehouseConnection]:
    """Return the connections by name."""
    return [
        WarehouseConnection(name, variables["system"], variables["read"], variables.get("apply", ""))
        for name, variables in sorted(settings.WAREHOUSE_CONNECTIONS.items())
    ]


def get_connection(name: str) -> WarehouseConnection:
    """Return a connection. Raises NotFound."""
    for connection in list_connections():
        if connection.name == name:
            return connection
    raise NotFound(f"There is no connection {name}.")


def read_dsn(variable: str) -> str:
    """Return a DSN of the environment, or of the file that it names. Raises ConnectorProblem, which repeats neither."""
    text = os.environ.get(variable, "").strip()
    if text and variable.endswith(_FILE_SUFFIX):
        try:
            with Path(text).open("rb") as file:
                text = file.read(_MAX_DSN_BYTES).decode().strip()
        except (OSError, ValueError):
            raise ConnectorProblem(f"The file that {variable} names cannot be read here.") from None
    if not text:
        raise ConnectorProblem(f"{variable} is empty here.")
    return text
