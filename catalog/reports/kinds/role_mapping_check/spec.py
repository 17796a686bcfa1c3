"""Does what source systems grant agree with what the catalog says of external roles (docs/grants-exports.md)?"""

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
from catalog.reports.spec import UNTESTED, WRONG, Column, ColumnKind, Input, Kind, Parameter, ResultTable
from policies.engine.errors import Problem
from policies.errors import Invalid

#: Tags that mark what is sensitive, unless somebody says others.
SENSITIVE = ["urn:li:tag:PII"]

#: Where the exports lie beside the snapshot, and the file that says so.
FOLDER, PLACE = "exports", "grants_exports.json"


def _tags(value: Any) -> Iterable[Problem]:
    for place, urn in enumerate(value):
        if not urn.startswith("urn:li:tag:"):
            yield Problem(WRONG, f"/{place}", f"{urn!r} is not the URN of a tag.")


def prepare(_: Report, folder: Path) -> None:
    """Put the exports beside the snapshot, so that nobody changes them meanwhile; those at a URL are named.

    Raises Invalid when none are configured or there is nothing at the place.
    """
    place: str = settings.GRANTS_EXPORTS
    if not place:
        raise Invalid([Problem("grants.none", "", "GRANTS_EXPORTS names no exports of grants.")])
    if ":/" in place:
        said = place.rstrip("/")
    else:
        if not Path(place).is_dir():
            raise Invalid([Problem("grants.none", "", "There is no folder at the place that GRANTS_EXPORTS names.")])
        shutil.copytree(place, folder / FOLDER)
        said = FOLDER
    (folder / PLACE).write_text(json.dumps({"folder": said}), encoding="utf-8")


def merge(report: Report) -> None:
    """Take over the findings of a run."""
    finding_writer.merge(report, KIND)


def _number(name: str, title: str) -> Column:
    return Column(name, title, ColumnKind.NUMBER)


KIND = Kind(
    name="role_mapping_check",
    title="Role mapping check",
    description="Do Snowflake, BigQuery and others grant what the catalog says of their roles, and to whom?",
    module=f"{__package__}.job",
    unread=UNTESTED - {ACCESS_ROLE},
    parameters=(
        Parameter(
            name="tags",
            title="Sensitive tags",
            input=Input.TEXTS,
            help="URNs of tags. What carries one counts as sensitive.",
            default=SENSITIVE,
            check=_tags,
        ),
    ),
    tables=(
        ResultTable(
            finding_writer.TABLE,
            "Findings",
            (
                Column("severity", "Severity", ColumnKind.SEVERITY),
                Column("type", "Finding", ColumnKind.STATE, FINDING_LABELS),
                Column("sentence", "What differs"),
                Column("role", "Role", ColumnKind.ENTITY),
                Column("entity", "Dataset", ColumnKind.ENTITY),
                Column("actor", "Who", ColumnKind.ACTOR),
                Column("export", "Export"),
                Column("repair", "Repair", ColumnKind.SQL),
                Column("key", "Key"),
            ),
            key=("key",),
        ),
        ResultTable(
            "compliance",
            "Roles that open what is sensitive",
            (
                Column("tag", "Tag", ColumnKind.ENTITY),
                Column("role", "Role", ColumnKind.ENTITY),
                Column("level", "Level"),
                _number("declared", "Datasets by the catalog"),
                _number("opened", "Datasets in the sources"),
            ),
            key=("tag", "role"),
        ),
        ResultTable(
            "exports",
            "Exports",
            (
                Column("export", "Export"),
                Column("platform", "Platform"),
                _number("grants", "Grants"),
                _number("members", "Members"),
                _number("inherited", "Roles in roles"),
                _number("unknown", "On unknown tables"),
                _number("passed", "About something else"),
                _number("bad", "Not understood"),
            ),
        ),
        ResultTable(
            "quarantine",
            "Rows not understood",
            (Column("export", "Export"), Column("file", "File"), Column("reason", "Reason"), Column("row", "Row")),
            key=("export", "file", "row"),
            limit=10_000,
        ),
    ),
    # Where nothing is exported there is nothing to check.
    is_nightly=bool(settings.GRANTS_EXPORTS),
    prepare=prepare,
    after_load=merge,
)
