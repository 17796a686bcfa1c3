"""Reports. Every executor of SPARK_MASTER must reach their folder."""

import shlex

from authzsite import env
from authzsite.settings.paths import VAR_DIR

# A folder, or the address of one in object storage (catalog/reports/storage.py).
REPORTS_DIR = env.text("REPORTS_DIR", str(VAR_DIR / "reports"))
# Whether a snapshot reads only what has changed since the last one.
REPORTS_INCREMENTAL = env.flag("REPORTS_INCREMENTAL", default=True)
# The open tables: a folder, or the address of one; by default `tables` in REPORTS_DIR.
RESULT_TABLES_DIR = env.text("RESULT_TABLES_DIR")
# After how many days rows are deleted from them; 0 for never.
RESULT_TABLES_DAYS = env.integer("RESULT_TABLES_DAYS", default=0)
# How many rows of access edges a run writes into them at most; 0 for none.
RESULT_TABLES_EDGES = env.integer("RESULT_TABLES_EDGES", default=5_000_000)
REPORTS_KEPT = env.integer("REPORTS_KEPT", default=60, minimum=1)
# Each running report is a Java program that uses every core.
REPORTS_AT_ONCE = env.integer("REPORTS_AT_ONCE", default=1, minimum=1)
REPORT_MINUTES = env.integer("REPORT_MINUTES", default=120, minimum=1)
# Seconds that a worker may take to answer a question about a finished report.
REPORT_ANSWER_SECONDS = env.integer("REPORT_ANSWER_SECONDS", default=120, minimum=1)
# Seconds without a heartbeat after which another worker takes over a report.
REPORT_LEASE_SECONDS = env.integer("REPORT_LEASE_SECONDS", default=30, minimum=1)
WATCH_REPORTS_EVERY_SECONDS = max(REPORT_LEASE_SECONDS / 3, 1.0)
REPORTS_NIGHTLY_HOUR = env.integer("REPORTS_NIGHTLY_HOUR", default=2)
SPARK_MASTER = env.text("SPARK_MASTER")
# Seconds for which Spark waits for the next job before it ends; 0 ends it after each.
SPARK_IDLE_SECONDS = env.integer("SPARK_IDLE_SECONDS", default=60, minimum=0)
# The folder of the archive of Java's classes, with which Spark starts sooner, and whether a worker makes it when it has
# run its first report.
SPARK_CLASSES_DIR = env.text("SPARK_CLASSES_DIR", str(VAR_DIR / "spark" / "classes"))
SPARK_MAKES_ARCHIVE = env.flag("SPARK_MAKES_ARCHIVE", default=True)
# The program spark-submit, if jobs have to be started by it, and its further arguments.
SPARK_SUBMIT = env.text("SPARK_SUBMIT")
SPARK_SUBMIT_ARGUMENTS = shlex.split(env.text("SPARK_SUBMIT_ARGUMENTS"))
# Exports of grants for the role mapping check: a folder, or a URL that Spark reads.
GRANTS_EXPORTS = env.text("GRANTS_EXPORTS")
# How many times its size, and how many bytes, a file of exports may grow to when it is unpacked.
EXPORTS_MAX_GROWTH = env.integer("EXPORTS_MAX_GROWTH", default=100, minimum=1)
EXPORTS_MAX_BYTES = env.integer("EXPORTS_MAX_BYTES", default=4 * 2**30, minimum=1)
# Hours after which a report warns that an export is old.
EXPORT_MAX_AGE = env.integer("EXPORT_MAX_AGE", default=48, minimum=1)
# The file with the assertions about access; without one they are edited on their page.
ASSERTIONS_FILE = env.text("ASSERTIONS_FILE")
# Whether events of runs are sent, which OpenLineage's own variables decide and configure, and under which namespace.
_LINEAGE_VARIABLES = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG", "OPENLINEAGE__TRANSPORT", "OPENLINEAGE__TRANSPORT__TYPE")
IS_LINEAGE_SENT = any(map(env.is_set, _LINEAGE_VARIABLES)) and not env.flag("OPENLINEAGE_DISABLED", default=False)
OPENLINEAGE_NAMESPACE = env.text("OPENLINEAGE_NAMESPACE", "authzsite")
