"""The backend that `settings.DATABASES` names: its connections and their pool keep to `policies.deadlines`."""

from typing import Any

from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base
from psycopg_pool import ConnectionPool, PoolTimeout

from policies import deadlines
from policies.deadlines import BoundedConnection

#: Seconds that a new connection has to set itself up, once the server took it.
CONFIGURE_SECONDS = 2


class BoundedPool(ConnectionPool[BoundedConnection]):
    """A pool that hands a connection out within the budget of who asks, or raises PoolTimeout."""

    def getconn(self, timeout: float | None = None) -> BoundedConnection:
        """Return a connection that answers."""
        seconds_left = deadlines.find_seconds_left()
        if seconds_left is not None:
            timeout = min(self.timeout if timeout is None else timeout, seconds_left)
            # A connection that is checked without time left would count as broken, however well it is.
            if timeout <= 0:
                raise PoolTimeout("no time is left to get a connection")
        with deadlines.spend():
            return super().getconn(timeout)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper over a pool whose connections are bounded."""

    #: The pools of this process by the alias of their database.
    _connection_pools: dict[str, BoundedPool] = {}

    @property
    def pool(self) -> BoundedPool | None:
        """The pool of this process, made when it is asked for first; None where the settings want none."""
        options: dict[str, Any] = self.settings_dict["OPTIONS"].get("pool") or {}
        if self.alias == NO_DB_ALIAS or not options:
            return None
        if self.alias not in self._connection_pools:
            pool = BoundedPool(
                connection_class=BoundedConnection,
                # Django sets the mode of transactions itself later on.
                kwargs={**self.get_connection_params(), "autocommit": True},
                open=False,
                configure=self._configure_in_time,
                check=BoundedPool.check_connection if self.settings_dict["CONN_HEALTH_CHECKS"] else None,
                **options,
            )
            # Of several threads that make one at once the first one's counts.
            self._connection_pools.setdefault(self.alias, pool)
        return self._connection_pools[self.alias]

    def _configure_in_time(self, connection: BoundedConnection) -> None:
        with deadlines.open_budget(CONFIGURE_SECONDS):
            self._configure_connection(connection)  # type: ignore[attr-defined]  # the stubs leave it out
