"""The present state of a connection: its address, its last good snapshot and its last one, for pages and API."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.connections import snapshots, sources
from catalog.connections.sources import WarehouseConnection
from catalog.models import WarehouseSnapshot
from catalog.warehouses.connector import Address, ConnectorProblem


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """A connection with what is known of it. `problem` is about its DSN, "" where it can be read here."""

    connection: WarehouseConnection
    address: Address | None
    problem: str
    last_good: WarehouseSnapshot | None
    last: WarehouseSnapshot | None

    @property
    def name(self) -> str:
        """The name of the connection."""
        return self.connection.name

    @property
    def system(self) -> str:
        """The system of the connection."""
        return self.connection.system

    @property
    def is_moved(self) -> bool:
        """Whether the address is another one than that of the last good snapshot."""
        if self.address is None or self.last_good is None:
            return False
        reading = self.last_good.reading
        return (reading["host"], reading["database"]) != (self.address.host, self.address.database)


def describe_connections(connections: Sequence[WarehouseConnection]) -> list[ConnectionState]:
    """Return connections with what is known of them."""
    names = [connection.name for connection in connections]
    last_good = snapshots.find_last(names, WarehouseSnapshot.Status.READY)
    last = snapshots.find_last(names)
    states = []
    for connection in connections:
        address, problem = None, ""
        try:
            address = connection.describe_address()
        except ConnectorProblem as error:
            problem = str(error)
        name = connection.name
        states.append(ConnectionState(connection, address, problem, last_good.get(name), last.get(name)))
    return states


def describe_connection(name: str) -> ConnectionState:
    """Return a connection with what is known of it. Raises NotFound."""
    return describe_connections([sources.get_connection(name)])[0]
