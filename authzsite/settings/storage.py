"""The database, the cache and static files."""

from typing import Any

from authzsite import env
from authzsite.settings.paths import BASE_DIR, VAR_DIR

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = env.address("REDIS_URL", schemes=("redis", "rediss"))
DATABASES = {"default": env.database("DATABASE_URL", default=VAR_DIR / "db.sqlite3")}
DATABASE_POOL_SIZE = env.integer("DATABASE_POOL_SIZE", default=16, minimum=1)
# Whether connections keep statements prepared. A pooler between here and the server that shares its connections between
# transactions has to know such statements (pgbouncer from 1.21), or this is off.
DATABASE_PREPARED_STATEMENTS = env.flag("DATABASE_PREPARED_STATEMENTS", default=True)
# Connections of the pool reserved for the process's own threads and for health checks.
OWN_CONNECTIONS = 4
# Seconds that a new connection may take.
DATABASE_CONNECT_SECONDS = 2
DATABASE_OPTIONS: dict[str, Any] = (
    {
        # WAL lets readers continue beside the one writer; IMMEDIATE makes a writer wait at its start, where waiting
        # helps, instead of failing when its first read becomes a write.
        "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA busy_timeout = 20000",
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
    }
    if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3"
    else {
        # While the server is away a request waits for the pool's timeout (or its budget, if that is less). When the
        # server returns, it waits until the pool gives up its current attempt to connect (reconnect_timeout), after
        # which it starts another at once.
        "pool": {"min_size": 1, "max_size": DATABASE_POOL_SIZE, "timeout": 3, "reconnect_timeout": 1},
        "connect_timeout": DATABASE_CONNECT_SECONDS,
        # A machine that is gone is detected after about half a minute, also without a deadline (milliseconds).
        "tcp_user_timeout": 30_000,
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 4,
        # Prepared at its first use; that is only `open_prepared_cursor`, since Django's cursors do not prepare.
        "prepare_threshold": 0 if DATABASE_PREPARED_STATEMENTS else None,
        # Compilation of statements that PostgreSQL considers expensive takes seconds; running any of ours does not. A
        # prepared statement is planned once and not for each list of values: that takes longer than finding the rows.
        "options": " ".join(
            (
                DATABASES["default"].get("OPTIONS", {}).get("options", ""),
                "-c jit=off -c plan_cache_mode=force_generic_plan",
            )
        ).strip(),
    }
)
if DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    # Django's backend with a deadline for every wait.
    DATABASES["default"]["ENGINE"] = "authzsite.postgresql"
# Seconds for one statement of a web process; clients wait for half a minute. 0: no limit.
STATEMENT_SECONDS = env.integer("STATEMENT_SECONDS", default=30)
# Seconds for one statement of a worker or a command. 0: no limit.
TASK_STATEMENT_SECONDS = env.integer("TASK_STATEMENT_SECONDS", default=3600)
# Seconds for which one request may wait, for its slot, the database and locks together: for decisions, and for others.
DECISION_SECONDS = env.integer("DECISION_SECONDS", default=2, minimum=1)
REQUEST_SECONDS = env.integer("REQUEST_SECONDS", default=60, minimum=1)
# Seconds in which the body of a request has to arrive.
BODY_SECONDS = env.integer("BODY_SECONDS", default=10, minimum=1)
# Requests that a web process runs at once, and requests that wait for a slot.
REQUESTS_AT_ONCE = env.integer("REQUESTS_AT_ONCE", default=max(DATABASE_POOL_SIZE - OWN_CONNECTIONS, 1), minimum=1)
REQUESTS_WAITING = env.integer("REQUESTS_WAITING", default=200)
# A broken connection of the pool is replaced before a request uses it.
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DATABASES["default"]["OPTIONS"] = {**DATABASES["default"].get("OPTIONS", {}), **DATABASE_OPTIONS}
# Seconds to wait for a Redis that accepts connections and does not respond; without it answers are the same.
REDIS_PATIENCE = {"socket_connect_timeout": 1, "socket_timeout": 1}
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "authzsite",
        "OPTIONS": REDIS_PATIENCE,
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache"}
}
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
