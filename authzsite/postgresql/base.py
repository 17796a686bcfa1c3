"""The backend that `settings.DATABASES` names: its connections and pool observe `policies.deadlines`."""

from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from django.db.backends.postgresql.operations import DatabaseOperations
from psycopg import ClientCursor
from psycopg_pool import ConnectionPool, PoolTimeout

from policies import deadlines
from policies.deadlines import BoundedConnection

#: Seconds for the setup of a new connection after the server accepted it.
CONFIGURE_SECONDS = 2

#: Most prepared statements of a connection: there are few, and each has another text when it is planned anew.
MAX_PREPARED = 8


class BoundedPool(ConnectionPool[BoundedConnection]):
    """A pool that provides a connection within the caller's budget, or raises PoolTimeout."""

    def getconn(self, timeout: float | None = None) -> BoundedConnection:
        """Return a working connection; raises PoolTimeout."""
        seconds_left = deadlines.find_seconds_left()
        if seconds_left is not None:
            timeout = min(self.timeout if timeout is None else timeout, seconds_left)
            # A connection checked without time left would count as broken.
            if timeout <= 0:
                raise PoolTimeout("no time is left to get a connection")
        with deadlines.spend():
            return super().getconn(timeout)


class Operations(DatabaseOperations):
    """Django's operations; they know the values of prepared statements as well."""

    def last_executed_query(self, cursor: Any, sql: Any, params: Any) -> Any:
        """Return a statement with its values, which a prepared one is sent without."""
        if isinstance(cursor, base.ServerBindingCursor):
            connection: BoundedConnection = cursor.connection  # type: ignore[attr-defined]  # the stubs know no base
            return ClientCursor(connection).mogrify(sql, params)
        return super().last_executed_query(cursor, sql, params)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper over a pool of bounded connections."""

    ops_class = Operations

    #: The pools of this process, by database alias.
    _connection_pools: dict[str, BoundedPool] = {}

    @property
    def pool(self) -> BoundedPool | None:
        """The pool of this process, created on first use; None if the settings have none."""
        options: dict[str, Any] = self.settings_dict["OPTIONS"].get("pool") or {}
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            pool = BoundedPool(
                connection_class=BoundedConnection,
                # Django sets the transaction mode itself later.
                kwargs={**self.get_connection_params(), "autocommit": True},
                open=False,
                configure=self._configure_in_time,
                check=BoundedPool.check_connection if self.settings_dict["CONN_HEALTH_CHECKS"] else None,
                **options,
            )
            # If several threads create one at once, the first is used.
            self._connection_pools.setdefault(self.alias, pool)
        return self._connection_pools[self.alias]

    def open_prepared_cursor(self) -> Any:
        """Return a cursor whose statements the server keeps prepared; those of `cursor` are planned at every call."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        with self.wrap_database_errors:
            server_cursor = base.ServerBindingCursor(self.connection)  # type: ignore[call-arg]  # the stubs know no base
            return self._prepare_cursor(server_cursor)  # type: ignore[attr-defined]  # the stubs leave it out

    def _configure_in_time(self, connection: BoundedConnection) -> None:
        connection.prepared_max = MAX_PREPARED
        with deadlines.open_budget(CONFIGURE_SECONDS):
            self._configure_connection(connection)  # type: ignore[attr-defined]  # the stubs leave it out
