"""The scripts that make exports, by the name of the warehouse. No Spark, so that commands of Django may print them."""

from collections.abc import Mapping

from catalog.warehouses.bigquery.export_script import SCRIPT as BIGQUERY_SCRIPT
from catalog.warehouses.databricks.export_script import SCRIPT as DATABRICKS_SCRIPT
from catalog.warehouses.export_script import ExportScript
from catalog.warehouses.postgres.export_script import SCRIPT as POSTGRES_SCRIPT
from catalog.warehouses.redshift.export_script import SCRIPT as REDSHIFT_SCRIPT
from catalog.warehouses.snowflake.export_script import SCRIPT as SNOWFLAKE_SCRIPT
from catalog.warehouses.trino.export_script import SCRIPT as TRINO_SCRIPT

SCRIPTS: Mapping[str, ExportScript] = {
    script.warehouse: script
    for script in (
        *(BIGQUERY_SCRIPT, DATABRICKS_SCRIPT, POSTGRES_SCRIPT),
        *(REDSHIFT_SCRIPT, SNOWFLAKE_SCRIPT, TRINO_SCRIPT),
    )
}
