"""The open tables and their columns: what docs/result-tables.md publishes. No Django.

Columns are only added, at the end, with the schema version that has them first; none is removed, renamed or changed in
its type. A file of an earlier version lacks the later columns, and readers take them as null.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: The version of these schemas; one higher with every change.
SCHEMA_VERSION = 1

#: The folders of a table that its files are in: report=<kind>/day=<day of as_of, UTC>.
PARTITION_COLUMNS = ("report", "day")


class OpenType(StrEnum):
    """The type of a column: text (UTF-8), whole number (64 bits), or time (microseconds, UTC)."""

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class OpenColumn:
    """A column of an open table, and the schema version that has it first."""

    name: str
    description: str
    type: OpenType = OpenType.TEXT
    since: int = 1
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class OpenTable:
    """An open table: its name, what a row is, and its own columns; all tables begin with RUN_COLUMNS."""

    name: str
    description: str
    own_columns: tuple[OpenColumn, ...]

    @property
    def columns(self) -> tuple[OpenColumn, ...]:
        """All columns in the order of the files."""
        return (*RUN_COLUMNS, *self.own_columns)

    def build_arrow_schema(self) -> "pa.Schema":
        """Return the schema of the files."""
        import pyarrow as pa

        types = {OpenType.TEXT: pa.string(), OpenType.NUMBER: pa.int64(), OpenType.TIME: pa.timestamp("us", "UTC")}
        return pa.schema(
            [pa.field(column.name, types[column.type], nullable=not column.is_required) for column in self.columns]
        )


RUN_COLUMNS = (
    OpenColumn("run", "Id of the run", is_required=True),
    OpenColumn("attempt", "Number of the worker's attempt that made the row", OpenType.NUMBER, is_required=True),
    OpenColumn("kind", "Kind of report", is_required=True),
    OpenColumn("as_of", "Moment that the row describes: when the snapshot was taken", OpenType.TIME, is_required=True),
    OpenColumn("policy_version", "Version of the policies in the snapshot", OpenType.NUMBER, is_required=True),
)

_PRIVILEGE = OpenColumn("privilege", "Privilege, where the row is about one")
_EXPORT = OpenColumn("export", "Export of grants that the row comes from")
_ROLE = OpenColumn("role", "URN of the external role")

COUNTS = OpenTable(
    "counts",
    "One number of a table of a report.",
    (
        OpenColumn("table", "Table of the report", is_required=True),
        OpenColumn("measure", "Column of that table: what is counted", is_required=True),
        _PRIVILEGE,
        OpenColumn("subject", "What it is counted for: a URN or a name; null where only for the privilege"),
        OpenColumn("object", "Second name where one does not suffice: the tag of a role, the rule of an export"),
        OpenColumn("value", "The number", OpenType.NUMBER),
    ),
)

ACCESS_EDGES = OpenTable(
    "access_edges",
    "One step from a person to an entity. People who reach the same entities form a crowd, whose name counts within "
    "a run: a row has an entity and a crowd that reaches it, an entity and a person who reaches it besides, or a "
    "crowd and a person in it.",
    (
        OpenColumn("privilege", "Privilege that is used on the entity; null where a person is in a crowd"),
        OpenColumn("entity", "URN of the entity"),
        OpenColumn("crowd", "Name of the crowd"),
        OpenColumn("person", "URN of the person"),
    ),
)

FINDINGS = OpenTable(
    "findings",
    "One problem that a run found. Decisions of people about it are not here: they change, and files do not.",
    (
        OpenColumn("key", "Key by which every run recognizes the problem", is_required=True),
        OpenColumn("severity", "CRITICAL, HIGH, MEDIUM or LOW", is_required=True),
        OpenColumn("type", "Type of problem", is_required=True),
        OpenColumn("sentence", "What is wrong"),
        OpenColumn("policy", "URN of the policy"),
        OpenColumn("other", "URN of another policy"),
        _ROLE,
        OpenColumn("entity", "URN of the entity"),
        OpenColumn("actor", "URN of the user, group or role"),
        _EXPORT,
        OpenColumn("members", "How many problems of a kind this one stands for", OpenType.NUMBER),
        OpenColumn("repair", "Statement that would repair it in the source"),
    ),
)

DRIFT = OpenTable(
    "drift",
    "One difference between the catalog and the grants of a source, before differences of a kind become one finding.",
    (
        OpenColumn("type", "Type of difference", is_required=True),
        OpenColumn("severity", "CRITICAL, HIGH, MEDIUM or LOW", is_required=True),
        _EXPORT,
        _ROLE,
        OpenColumn("role_name", "Name of the role in the source"),
        OpenColumn("entity", "URN of the dataset"),
        OpenColumn("actor", "URN of the user or group"),
        OpenColumn("grantee", "Who has the grant in the source"),
        OpenColumn("object", "Name in the source, parts joined by dots"),
        OpenColumn("via", "Role through which the access is inherited"),
        OpenColumn("level", "Level of access in the source (number, higher is more)", OpenType.NUMBER),
        OpenColumn("declared_level", "Level that the catalog declares", OpenType.NUMBER),
        OpenColumn("count", "Datasets, or rows of the export, that it is about", OpenType.NUMBER),
        OpenColumn("rule", "Rule that passed those rows"),
    ),
)

USAGE = OpenTable(
    "usage",
    "One thing that gives access, and whether it was used.",
    (
        OpenColumn("table", "Table of the report", is_required=True),
        OpenColumn(
            "state",
            "USED, UNUSED, YOUNG (given too lately to be unused), or NOT_SEEN where not every use is known",
            is_required=True,
        ),
        OpenColumn("last_use", "Last use", OpenType.TIME),
        OpenColumn("policy", "URN of the policy"),
        _PRIVILEGE,
        OpenColumn("person", "URN of the user, or of the group that is a member"),
        OpenColumn("group", "URN of the group that the person is in"),
        _EXPORT,
        OpenColumn("grantee", "Who has the grant in the source"),
        _ROLE,
        OpenColumn("held", "Role of the source that the person holds"),
        OpenColumn("object", "What the grant is on, in the source"),
        OpenColumn("datasets", "Datasets that the grant reaches", OpenType.NUMBER),
        OpenColumn("used_datasets", "Datasets of these that were used", OpenType.NUMBER),
        OpenColumn("people", "People who have it", OpenType.NUMBER),
        OpenColumn("used_by", "People who used it", OpenType.NUMBER),
    ),
)

#: All open tables by name.
TABLES = {table.name: table for table in (ACCESS_EDGES, COUNTS, FINDINGS, DRIFT, USAGE)}
