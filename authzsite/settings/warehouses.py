"""Variables of connections to source systems. Files that they name are read when the site needs them."""

from authzsite import env, warehouse_dsns

WAREHOUSE_CONNECTIONS = warehouse_dsns.find_connections()
# Whether repairs are confirmed by somebody else than who proposed them.
REPAIRS_NEED_TWO = env.flag("REPAIRS_NEED_TWO", default=True)
# Seconds that a snapshot may take in all.
SNAPSHOT_SECONDS = env.integer("SNAPSHOT_SECONDS", default=900, minimum=1)
# How many snapshots of each connection are kept; the last good one always is.
SNAPSHOTS_KEPT = env.integer("SNAPSHOTS_KEPT", default=30, minimum=1)
