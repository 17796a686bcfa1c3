"""Who may use which privilege on what: exact counts for people and entities, over the whole catalog."""

from collections.abc import Mapping

from catalog.reporting.kind import Column, ColumnKind, Input, Kind, Parameter, ResultTable
from policies.engine import families

#: What the nightly run counts.
DEFAULT_PRIVILEGES = ["VIEW_ENTITY_PAGE"]


def privileges() -> Mapping[str, str]:
    """Return every privilege that can be used on an entity, with its label, family by family."""
    return {
        info.name: info.display for vocabulary in families.vocabularies().values() for info in vocabulary.metadata()
    }


_PRIVILEGE = Column("privilege", "Privilege", ColumnKind.PRIVILEGE)
_PEOPLE = Column("people", "People", ColumnKind.NUMBER)
_ENTITIES = Column("entities", "Entities", ColumnKind.NUMBER)

KIND = Kind(
    name="effective_access",
    title="Effective access",
    description="Who may use a privilege on what: exact counts per person and per entity, by domain, platform and tag.",
    module="catalog.spark.jobs.effective_access",
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
    ),
    is_nightly=True,
)
