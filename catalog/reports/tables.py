"""The tables of results of a kind of report, which its job and its spec share: columns, keys, limits. No Django."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from catalog.reports.finding_labels import FINDING_LABELS


class ColumnKind(StrEnum):
    """The kind of the values of a column, which determines display and links.

    ENTITY and POLICY hold URNs, ENTITIES those of several entities, one a line, ACTOR the URN of a user, group or role,
    or a name in a source, NUMBER whole numbers, LINES several lines of text, all others text; values may be null.
    """

    TEXT = "TEXT"
    LINES = "LINES"
    NUMBER = "NUMBER"
    ENTITY = "ENTITY"
    ENTITIES = "ENTITIES"
    ACTOR = "ACTOR"
    POLICY = "POLICY"
    PRIVILEGE = "PRIVILEGE"
    SEVERITY = "SEVERITY"
    STATE = "STATE"
    SQL = "SQL"


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of a table of results: its name in files and the API, its heading, and its kind.

    `labels` are the labels of its codes on pages; files and the API use the codes.
    """

    name: str
    title: str
    kind: ColumnKind = ColumnKind.TEXT
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.kind is ColumnKind.NUMBER


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table of results. `key` are the columns that identify a row; by default the first column.

    Only the first `limit` rows by position are stored; the files of the run have all of them. `note` is a sentence for
    the page of a table that leaves rows out by itself.
    """

    name: str
    title: str
    columns: tuple[ReportColumn, ...]
    key: tuple[str, ...] = ()
    limit: int | None = None
    note: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self.key or (self.columns[0].name,)


def number_column(name: str, title: str) -> ReportColumn:
    """Return a column of numbers."""
    return ReportColumn(name, title, ColumnKind.NUMBER)


#: Columns that several kinds have.
PERSON = ReportColumn("person", "Person", ColumnKind.ACTOR)
ENTITY = ReportColumn("entity", "Entity", ColumnKind.ENTITY)
POLICY = ReportColumn("policy", "Policy", ColumnKind.POLICY)
PRIVILEGE = ReportColumn("privilege", "Privilege", ColumnKind.PRIVILEGE)
STATE = ReportColumn("state", "State", ColumnKind.STATE)

#: In the metadata of the files of a table: how many further rows there would be.
LEFT_OUT = b"left_out"

#: The table of a kind that holds its findings, and the columns that this table requires beside `sentence`.
FINDINGS_TABLE = "findings"
FINDING_SEVERITY = ReportColumn("severity", "Severity", ColumnKind.SEVERITY)
FINDING_TYPE = ReportColumn("type", "Finding", ColumnKind.STATE, FINDING_LABELS)
FINDING_REPAIR = ReportColumn("repair", "Repair", ColumnKind.SQL)
FINDING_KEY = ReportColumn("key", "Key")
#: Who has or lacks access in a source: the URN of whom the catalog knows, else the name in the source; and the rows of
#: the exports that say so.
FINDING_GRANTEE = ReportColumn("grantee", "Grantee", ColumnKind.ACTOR)
FINDING_EVIDENCE = ReportColumn("evidence", "Evidence", ColumnKind.LINES)
#: Columns of findings that stand for several (`catalog.reports.spark.rollups`).
FINDING_MEMBERS = number_column("members", "Of a kind")
FINDING_DATASETS = ReportColumn("datasets", "Datasets", ColumnKind.ENTITIES)
FINDING_FINGERPRINT = ReportColumn("fingerprint", "Fingerprint")
#: What takes a repair back, one statement a line.
FINDING_INVERSE = ReportColumn("inverse", "What takes the repair back", ColumnKind.SQL)

#: The table of the exports of a kind that reads any, and its column of the reason why nothing of one is compared.
EXPORTS_TABLE = "exports"
EXPORT_PROBLEM = ReportColumn("problem", "Why it is not compared")
#: By its name; a script of its repairs is written in it.
EXPORT_DIALECT = ReportColumn("dialect", "Dialect of repairs")
