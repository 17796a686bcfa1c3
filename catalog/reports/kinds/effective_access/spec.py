"""The report of effective access: exact counts for people and entities, over the whole catalog."""

import json
from collections.abc import Mapping

from django.conf import settings

from catalog.models import Report
from catalog.reports.spec import Parameter, ParameterType, ReportSpec
from catalog.reports.storage import StorageFolder
from catalog.reports.tables import ENTITY, PERSON, PRIVILEGE, ColumnKind, ReportColumn, ResultTable, number_column
from policies.engine import families

#: Privileges that the nightly run counts.
DEFAULTPRIVILEGES = ["VIEW_ENTITY_PAGE"]

#: Rows of entities that are stored, those with the most people first; the files of a run have all.
MAX_ENTITY_ROWS = 100_000


def privilege_labels() -> Mapping[str, str]:
    """Return every privilege on entities with its label, family by family."""
    return {
        info.name: info.display
        for vocabulary in families.load_vocabularies().values()
        for info in vocabulary.metadata_privileges()
    }


def prepare(_: Report, folder: StorageFolder) -> None:
    """Write edges.json, the bound of the rows of edges, 0 for none. Raises OSError."""
    folder.write_text("edges.json", json.dumps({"max_rows": settings.RESULT_TABLES_EDGES}))


_PEOPLE = number_column("people", "People")
_ENTITIES = number_column("entities", "Entities")
_ACCESSES = number_column("accesses", "Person and entity pairs")


def _build_place_table(kind: str, title: str) -> ResultTable:
    columns = (PRIVILEGE, ReportColumn(kind, title, ColumnKind.ENTITY), _ENTITIES, _PEOPLE, _ACCESSES)
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
            default=DEFAULTPRIVILEGES,
            is_required=True,
            choices=privilege_labels,
        ),
    ),
    tables=(
        ResultTable(
            "people",
            "People by reach",
            (PRIVILEGE, PERSON, _ENTITIES),
            key=("privilege", "person"),
        ),
        ResultTable(
            "entities",
            "Entities by people",
            (PRIVILEGE, ENTITY, _PEOPLE),
            key=("privilege", "entity"),
            limit=MAX_ENTITY_ROWS,
        ),
        _build_place_table("domain", "Domain"),
        _build_place_table("platform", "Platform"),
        _build_place_table("tag", "Tag"),
    ),
    is_nightly=True,
    keeps_snapshot=True,
    prepare=prepare,
)
