"""Logging and metrics."""

from authzsite import env, logs
from authzsite.settings.paths import VAR_DIR

# Logging the user would read the session, and with it the database, in requests that need neither.
DJANGO_STRUCTLOG_USER_ID_FIELD = None
LOGGING = logs.build_configuration(
    level=env.choice("LOG_LEVEL", default="INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR")),
    style=env.choice("LOG_FORMAT", default="console", choices=("console", "json")),
)
LOGGING_CONFIG = "authzsite.logs.configure"
# Bearer token of scrapers, and the folder shared by the web processes of one machine.
METRICS_TOKEN = env.text("METRICS_TOKEN")
METRICS_DIR = env.ensure_folder("METRICS_DIR", default=VAR_DIR / "metrics")
