"""The script for a shell with gcloud, bq and jq that makes the files of an export of BigQuery (`export.sh`)."""

import re
from importlib.resources import files

from catalog.warehouses.export_script import ExportScript

_BEGIN, _STATEMENT, _END = re.split(
    r"^# (?:QUERY|END)$", (files(__package__) / "export.sh").read_text(encoding="utf-8"), flags=re.MULTILINE
)
SCRIPT = ExportScript(warehouse="bigquery", package=__package__, begin=_BEGIN, statement=_STATEMENT, end=_END)
