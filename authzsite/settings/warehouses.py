"""Connections to source systems: their variables. What these hold is read when it is used, and is no setting."""

from authzsite import env, warehouse_dsns

WAREHOUSE_CONNECTIONS = warehouse_dsns.find_connections()
# Seconds that a snapshot may take in all.
SNAPSHOT_SECONDS = env.integer("SNAPSHOT_SECONDS", default=900, minimum=1)
# How many snapshots of each connection are kept; the last good one always is.
SNAPSHOTS_KEPT = env.integer("SNAPSHOTS_KEPT", default=30, minimum=1)
