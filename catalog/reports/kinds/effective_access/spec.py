"""The report of effective access: exact counts for people and entities, over the whole catalog."""

import json
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from catalog.access.grant_coverage_sql import instance_administrators
from catalog.models import Report
from catalog.reports.snapshot.partitions import GRANT_SETTINGS_FILE
from catalog.reports.spec import ColumnKind, Parameter, ParameterType, ReportColumn, ReportSpec, ResultTable
from policies.engine import families
from policies.engine.families.cdap_entity_ids import INSTANCE_URN

#: Privileges that the nightly run counts.
DEFAULT_PRIVILEGES = ["VIEW_ENTITY_PAGE"]

#: Rows of entities that are stored, those with the most people first; the files of a run have all.
MAX_ENTITY_ROWS = 100_000


def privilege_labels() -> Mapping[str, str]:
    """Return every privilege on entities with its label, family by family."""
    return {
        info.name: info.display
        for vocabulary in families.load_vocabularies().values()
        for info in vocabulary.metadata_privileges()
    }


def write_grant_settings(_: Report, folder: Path) -> None:
    """Write grants.json: the settings of grants, which the tables of a snapshot do not have."""
    grant_settings = {
        "administrators": sorted(instance_administrators()),
        "instance": INSTANCE_URN,
        "is_inherited": settings.INHERIT_PRIVILEGES,
    }
    (folder / GRANT_SETTINGS_FILE).write_text(json.dumps(grant_settings), encoding="utf-8")


_PRIVILEGE = ReportColumn("privilege", "Privilege", ColumnKind.PRIVILEGE)
_PEOPLE = ReportColumn("people", "People", ColumnKind.NUMBER)
_ENTITIES = ReportColumn("entities", "Entities", ColumnKind.NUMBER)
_ACCESSES = ReportColumn("accesses", "Person and entity pairs", ColumnKind.NUMBER)


def _build_place_table(kind: str, title: str) -> ResultTable:
    columns = (_PRIVILEGE, ReportColumn(kind, title, ColumnKind.ENTITY), _ENTITIES, _PEOPLE, _ACCESSES)
    return ResultTable(f"{kind}s", f"By {title.lower()}", columns, key=("privilege", kind))


SPEC = ReportSpec(
    name="effective_access",
    title="Effective access",
    description="Who may use a privilege on what: exact counts per person and per entity, by domain, platform and tag.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="privileges",
            title="Privileges",
            input=ParameterType.CHOICES,
            help="Each is counted by itself.",
            default=DEFAULT_PRIVILEGES,
            is_required=True,
            choices=privilege_labels,
        ),
    ),
    tables=(
        ResultTable(
            "people",
            "People by reach",
            (_PRIVILEGE, ReportColumn("person", "Person", ColumnKind.ACTOR), _ENTITIES),
            key=("privilege", "person"),
        ),
        ResultTable(
            "entities",
            "Entities by people",
            (_PRIVILEGE, ReportColumn("entity", "Entity", ColumnKind.ENTITY), _PEOPLE),
            key=("privilege", "entity"),
            limit=MAX_ENTITY_ROWS,
        ),
        _build_place_table("domain", "Domain"),
        _build_place_table("platform", "Platform"),
        _build_place_table("tag", "Tag"),
    ),
    is_nightly=True,
    keeps_snapshot=True,
    prepare=write_grant_settings,
)
