"""The role mapping check: grants in source systems against external roles (docs/grants-exports.md)."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings

from catalog.aspects.base import ACCESS_ROLE
from catalog.models import Report
from catalog.reports import finding_writer
from catalog.reports.finding_labels import FINDING_LABELS
from catalog.reports.spec import (
    INVALID_PARAMETER,
    UNTESTED_FACET_FIELDS,
    ColumnKind,
    Parameter,
    ParameterType,
    ReportColumn,
    ReportSpec,
    ResultTable,
)
from policies.engine.errors import Problem
from policies.errors import Invalid

#: Default tags of sensitive datasets.
SENSITIVE_TAGS = ["urn:li:tag:PII"]

#: Folder of the exports beside the snapshot, and the file that names it.
EXPORTS_FOLDER, EXPORTS_LOCATION_FILE = "exports", "grants_exports.json"


def _check_tags(value: Any) -> Iterable[Problem]:
    for index, urn in enumerate(value):
        if not urn.startswith("urn:li:tag:"):
            yield Problem(INVALID_PARAMETER, f"/{index}", f"{urn!r} is not the URN of a tag.")


def prepare(_: Report, folder: Path) -> None:
    """Copy the exports beside the snapshot, so that they cannot change during the run; exports at a URL are only named.

    Raises Invalid when none are configured or the folder does not exist.
    """
    location: str = settings.GRANTS_EXPORTS
    if not location:
        raise Invalid([Problem("grants.none", "", "GRANTS_EXPORTS names no exports of grants.")])
    if ":/" in location:
        exports_folder = location.rstrip("/")
    else:
        if not Path(location).is_dir():
            raise Invalid([Problem("grants.none", "", "There is no folder at the place that GRANTS_EXPORTS names.")])
        shutil.copytree(location, folder / EXPORTS_FOLDER)
        exports_folder = EXPORTS_FOLDER
    (folder / EXPORTS_LOCATION_FILE).write_text(json.dumps({"folder": exports_folder}), encoding="utf-8")


def merge(report: Report) -> None:
    """Merge the findings of a run."""
    finding_writer.merge(report, SPEC)


def _number_column(name: str, title: str) -> ReportColumn:
    return ReportColumn(name, title, ColumnKind.NUMBER)


SPEC = ReportSpec(
    name="role_mapping_check",
    title="Role mapping check",
    description="Do Snowflake, BigQuery and others grant what the catalog says of their roles, and to whom?",
    module=f"{__package__}.job",
    excluded_fields=UNTESTED_FACET_FIELDS - {ACCESS_ROLE},
    parameters=(
        Parameter(
            name="tags",
            title="Sensitive tags",
            input=ParameterType.TEXTS,
            help="URNs of tags. What carries one counts as sensitive.",
            default=SENSITIVE_TAGS,
            check=_check_tags,
        ),
    ),
    tables=(
        ResultTable(
            finding_writer.FINDINGS_TABLE,
            "Findings",
            (
                ReportColumn("severity", "Severity", ColumnKind.SEVERITY),
                ReportColumn("type", "Finding", ColumnKind.STATE, FINDING_LABELS),
                ReportColumn("sentence", "What differs"),
                ReportColumn("role", "Role", ColumnKind.ENTITY),
                ReportColumn("entity", "Dataset", ColumnKind.ENTITY),
                ReportColumn("actor", "Who", ColumnKind.ACTOR),
                ReportColumn("export", "Export"),
                ReportColumn("repair", "Repair", ColumnKind.SQL),
                ReportColumn("key", "Key"),
            ),
            key=("key",),
        ),
        ResultTable(
            "compliance",
            "Roles that open what is sensitive",
            (
                ReportColumn("tag", "Tag", ColumnKind.ENTITY),
                ReportColumn("role", "Role", ColumnKind.ENTITY),
                ReportColumn("level", "Level"),
                _number_column("declared", "Datasets by the catalog"),
                _number_column("opened", "Datasets in the sources"),
            ),
            key=("tag", "role"),
        ),
        ResultTable(
            "exports",
            "Exports",
            (
                ReportColumn("export", "Export"),
                ReportColumn("platform", "Platform"),
                _number_column("grants", "Grants"),
                _number_column("members", "Members"),
                _number_column("inherited", "Roles in roles"),
                _number_column("unknown", "On unknown tables"),
                _number_column("passed", "About something else"),
                _number_column("bad", "Not understood"),
            ),
        ),
        ResultTable(
            "quarantine",
            "Rows not understood",
            (
                ReportColumn("export", "Export"),
                ReportColumn("file", "File"),
                ReportColumn("reason", "Reason"),
                ReportColumn("row", "Row"),
            ),
            key=("export", "file", "row"),
            limit=10_000,
            note="Up to 10,000 rows are listed; the table Exports counts all of them.",
        ),
    ),
    # Nightly only where exports are configured.
    is_nightly=bool(settings.GRANTS_EXPORTS),
    prepare=prepare,
    after_load=merge,
)
