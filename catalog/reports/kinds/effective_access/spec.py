"""Who may use which privilege on what: exact counts for people and entities, over the whole catalog."""

import json
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

from catalog.access.grant_coverage_sql import instance_administrators
from catalog.models import Report
from catalog.reports.snapshot.partitions import SETTINGS
from catalog.reports.spec import Column, ColumnKind, Input, Kind, Parameter, ResultTable
from policies.engine import families
from policies.engine.families.cdap_entity_ids import INSTANCE_URN

#: What the nightly run counts.
DEFAULT_PRIVILEGES = ["VIEW_ENTITY_PAGE"]

#: How many entities are stored as rows, those that most people reach first; the files of a run hold all.
MOST_ENTITIES = 100_000


def privileges() -> Mapping[str, str]:
    """Return every privilege that can be used on an entity, with its label, family by family."""
    return {
        info.name: info.display for vocabulary in families.vocabularies().values() for info in vocabulary.metadata()
    }


def say_settings(_: Report, folder: Path) -> None:
    """Add what the settings say about grants, which the tables of a snapshot do not hold."""
    told = {
        "administrators": sorted(instance_administrators()),
        "instance": INSTANCE_URN,
        "is_inherited": settings.INHERIT_PRIVILEGES,
    }
    (folder / SETTINGS).write_text(json.dumps(told), encoding="utf-8")


_PRIVILEGE = Column("privilege", "Privilege", ColumnKind.PRIVILEGE)
_PEOPLE = Column("people", "People", ColumnKind.NUMBER)
_ENTITIES = Column("entities", "Entities", ColumnKind.NUMBER)
_ACCESSES = Column("accesses", "Person and entity pairs", ColumnKind.NUMBER)


def _places(kind: str, title: str) -> ResultTable:
    columns = (_PRIVILEGE, Column(kind, title, ColumnKind.ENTITY), _ENTITIES, _PEOPLE, _ACCESSES)
    return ResultTable(f"{kind}s", f"By {title.lower()}", columns, key=("privilege", kind))


KIND = Kind(
    name="effective_access",
    title="Effective access",
    description="Who may use a privilege on what: exact counts per person and per entity, by domain, platform and tag.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="privileges",
            title="Privileges",
            input=Input.CHOICES,
            help="Each is counted by itself.",
            default=DEFAULT_PRIVILEGES,
            is_required=True,
            choices=privileges,
        ),
    ),
    tables=(
        ResultTable(
            "people",
            "People by reach",
            (_PRIVILEGE, Column("person", "Person", ColumnKind.ACTOR), _ENTITIES),
            key=("privilege", "person"),
        ),
        ResultTable(
            "entities",
            "Entities by people",
            (_PRIVILEGE, Column("entity", "Entity", ColumnKind.ENTITY), _PEOPLE),
            key=("privilege", "entity"),
            limit=MOST_ENTITIES,
        ),
        _places("domain", "Domain"),
        _places("platform", "Platform"),
        _places("tag", "Tag"),
    ),
    is_nightly=True,
    keeps_snapshot=True,
    prepare=say_settings,
)
