"""The role mapping check: grants in source systems against external roles (docs/grants-exports.md)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from catalog.aspects.facet_fields import ACCESS_ROLE, SUBTYPE
from catalog.models import Report
from catalog.reports import storage_problems
from catalog.reports.kinds.role_mapping_check import connected_exports, tables
from catalog.reports.kinds.role_mapping_check.exports_copy import OutsideFolder, copy_exports
from catalog.reports.spec import INVALID_PARAMETER, UNTESTED_FACET_FIELDS, Parameter, ParameterType, ReportSpec
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from catalog.reports.warehouse_tables import ACCESS, HOLDERS
from policies.engine.errors import Problem
from policies.errors import Invalid

#: Default tags of sensitive datasets.
SENSITIVE_TAGS = ["urn:li:tag:PII"]

#: Folder of the exports beside the snapshot, and the file that names it.
EXPORTS_FOLDER, EXPORTS_LOCATION_FILE = "exports", "grants_exports.json"

_NO_EXPORTS = "GRANTS_EXPORTS names no exports of grants, and no connection has a snapshot."
_ELSEWHERE = (
    "GRANTS_EXPORTS is an address, and snapshots of connections are added to a folder of this machine alone: name one, "
    "or take the connections out of the environment."
)


def _check_tags(value: Any) -> Iterable[Problem]:
    for index, urn in enumerate(value):
        if not urn.startswith("urn:li:tag:"):
            yield Problem(INVALID_PARAMETER, f"/{index}", f"{urn!r} is not the URN of a tag.")


SENSITIVE_TAGS_PARAMETER = Parameter(
    name="tags",
    title="Sensitive tags",
    input=ParameterType.TEXTS,
    help="URNs of tags. A dataset or column with one of them counts as sensitive.",
    default=SENSITIVE_TAGS,
    check=_check_tags,
)


def prepare(_: Report, folder: StorageFolder) -> None:
    """Copy the exports beside the snapshot, so that they cannot change during the run; exports at a URL are only named.

    The last snapshots of connections are added to a folder. Raises Invalid when there are no exports, the folder does
    not exist, or something in it is not of it.
    """
    location: str = settings.GRANTS_EXPORTS
    connected = connected_exports.list_connected()
    if not location and not connected:
        raise Invalid([Problem("grants.none", "", _NO_EXPORTS)])
    exports_folder = EXPORTS_FOLDER
    times: dict[str, int] = {}
    if location and _is_elsewhere(location):
        if connected:
            raise Invalid([Problem("grants.elsewhere", "", _ELSEWHERE)])
        exports_folder = location.rstrip("/")
    elif location:
        times = _copy_folder(location, folder / EXPORTS_FOLDER)
    if connected:
        (folder / EXPORTS_FOLDER).create()
        connected_exports.add_connected(connected, folder / EXPORTS_FOLDER)
        times |= connected_exports.list_times(connected, folder / EXPORTS_FOLDER)
    limits = {"growth": settings.EXPORTS_MAX_GROWTH, "size": settings.EXPORTS_MAX_BYTES}
    location_document = {
        "folder": exports_folder,
        "limits": limits,
        "times": times,
        "max_age": settings.EXPORT_MAX_AGE,
        "asked_at": int(timezone.now().timestamp()),
    }
    folder.write_text(EXPORTS_LOCATION_FILE, json.dumps(location_document))


def _copy_folder(location: str, target: StorageFolder) -> dict[str, int]:
    exports = parse_address(location)
    if not exports.is_there():
        raise Invalid([Problem("grants.none", "", "There is no folder at the place that GRANTS_EXPORTS names.")])
    try:
        return copy_exports(Path(exports.path), target)
    except OutsideFolder as error:
        raise Invalid([Problem("grants.outside", "", f"Exports of grants: {error}")]) from error


def _is_elsewhere(location: str) -> bool:
    """Whether exports are in storage that Spark reads, and not in a folder of this machine."""
    try:
        return not parse_address(location).is_local
    except BadAddress:
        # Spark may know more kinds of addresses.
        return True


def find_input_problem() -> str:
    """Return the sentence about exports that cannot be read where GRANTS_EXPORTS says, or ""."""
    location: str = settings.GRANTS_EXPORTS
    return storage_problems.find_reading_problem(location, variable="GRANTS_EXPORTS") if ":/" in location else ""


SPEC = ReportSpec(
    name="role_mapping_check",
    title="Role mapping check",
    description="Do Snowflake, BigQuery and others grant what the catalog says of their roles, and to whom?",
    module=f"{__package__}.job",
    excluded_fields=UNTESTED_FACET_FIELDS - {ACCESS_ROLE, SUBTYPE},
    parameters=(SENSITIVE_TAGS_PARAMETER,),
    tables=(
        *(tables.FINDINGS, ACCESS, HOLDERS, tables.COMPLIANCE, tables.POLICIES),
        *(tables.EXPORTS, tables.PASSED, tables.QUARANTINE),
    ),
    # Nightly only where there is something to compare.
    is_nightly=bool(settings.GRANTS_EXPORTS or settings.WAREHOUSE_CONNECTIONS),
    has_joins=True,
    prepare=prepare,
    find_input_problem=find_input_problem,
)
