"""Scripts by the name of the warehouse or dialect: those that make exports, and what stands around those of repairs.

No Spark, so that Django may print them.
"""

from collections.abc import Mapping

from catalog.warehouses.bigquery.export_script import SCRIPT as BIGQUERY_SCRIPT
from catalog.warehouses.bigquery.repair_frame import FRAME as BIGQUERY_FRAME
from catalog.warehouses.databricks.export_script import SCRIPT as DATABRICKS_SCRIPT
from catalog.warehouses.databricks.repair_frame import FRAME as DATABRICKS_FRAME
from catalog.warehouses.export_script import ExportScript
from catalog.warehouses.postgres.export_script import SCRIPT as POSTGRES_SCRIPT
from catalog.warehouses.postgres.repair_frame import FRAME as POSTGRES_FRAME
from catalog.warehouses.redshift.export_script import SCRIPT as REDSHIFT_SCRIPT
from catalog.warehouses.redshift.repair_frame import FRAME as REDSHIFT_FRAME
from catalog.warehouses.repair_script import ScriptFrame
from catalog.warehouses.snowflake.export_script import SCRIPT as SNOWFLAKE_SCRIPT
from catalog.warehouses.snowflake.repair_frame import FRAME as SNOWFLAKE_FRAME
from catalog.warehouses.trino.export_script import SCRIPT as TRINO_SCRIPT
from catalog.warehouses.trino.repair_frame import FRAME as TRINO_FRAME

SCRIPTS: Mapping[str, ExportScript] = {
    script.warehouse: script
    for script in (
        *(BIGQUERY_SCRIPT, DATABRICKS_SCRIPT, POSTGRES_SCRIPT),
        *(REDSHIFT_SCRIPT, SNOWFLAKE_SCRIPT, TRINO_SCRIPT),
    )
}

#: By the names of dialects. A dialect of somebody else's package has no check at the end of its scripts.
FRAMES: Mapping[str, ScriptFrame] = {
    script.warehouse: frame
    for script, frame in (
        *((BIGQUERY_SCRIPT, BIGQUERY_FRAME), (DATABRICKS_SCRIPT, DATABRICKS_FRAME), (POSTGRES_SCRIPT, POSTGRES_FRAME)),
        *((REDSHIFT_SCRIPT, REDSHIFT_FRAME), (SNOWFLAKE_SCRIPT, SNOWFLAKE_FRAME), (TRINO_SCRIPT, TRINO_FRAME)),
    )
}
