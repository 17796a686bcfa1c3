"""Published layouts of columns of warehouses' own views, in CSV: what the rows of each say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses import plain_grants
from catalog.warehouses.csv_grants import (
    MISSING_NAMES,
    build_csv_facts,
    mark_types,
)
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.files.headers import Header, choose_header
from catalog.warehouses.files.lines import LINE_COLUMNS
from catalog.warehouses.grant_facts import SEPARATOR, FactKind
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.row_facts import UNKNOWN_LEVEL, RowOutcome
from catalog.warehouses.warehouse import BadExports, Export

#: Whether a described row is about a table or a container of tables.
_IS_TABLE_ROW = "is_row AND object_type <> 'ROLE'"

DescribeRows = Callable[[DataFrame, Export], Mapping[str, str]]

#: How layouts call who granted something.
_GRANTOR_COLUMNS = ("granted_by", "grantor_name", "grantor")
_TEXT_COLUMNS = (
    *("object_type", "path", "privilege", "grantee_type", "grantee", "condition", "details"),
    *("said_kind", "said_rule", "said_problem"),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout: the columns by which its files are recognized, and what its rows say.

    `describe` returns object_type, path, privilege, grantee_type and grantee, as `build_csv_facts` expects them, of
    rows of an export; `condition` and `details` of a fact; and `said_kind`, `said_rule` and `said_problem` where the
    layout itself says which FactKind rows are, passes them or finds them wrong. All are expressions of SQL.

    `further` are the other columns that the system publishes: a file with any column besides has another layout. None
    takes any. `name` is the layout for people, and in facts.
    """

    columns: tuple[str, ...]
    describe: DescribeRows
    name: str = ""
    further: tuple[str, ...] | None = None

    @property
    def header(self) -> Header:
        """The columns of its files."""
        return Header(self.columns, self.name, self.further)


@dataclass(frozen=True, slots=True)
class LayoutForm:
    """A form that consists of layouts, the most specific one first.

    `harmless` are its privileges that do not reach data; `harmless_start` is how further ones begin, '' if none do.
    """

    layouts: Sequence[Layout]
    harmless: Sequence[str]
    harmless_start: str = ""


@dataclass(frozen=True, slots=True)
class DescribedFiles:
    """The files of an export: described rows of those in layouts of a form, if any, facts of those in the plain form.

    `layout_names` are the names of the layouts.
    """

    rows: DataFrame | None
    plain_frames: Sequence[DataFrame]
    layout_names: frozenset[str]


def read_export(spark: SparkSession, folder: str, export: Export, form: LayoutForm) -> list[DataFrame]:
    """Return the facts of an export; each of its files has any layout of the form, or that of the plain form."""
    described_files = describe_files(spark, folder, export, form)
    rows, plain_frames = described_files.rows, described_files.plain_frames
    return [*plain_frames] if rows is None else [*plain_frames, build_facts(rows, export, form)]


def describe_files(spark: SparkSession, folder: str, export: Export, form: LayoutForm) -> DescribedFiles:
    """Return what the files under `grants` and `members` say. Raises BadExports."""
    described_frames: list[DataFrame] = []
    plain_frames: list[DataFrame] = []
    layout_names: set[str] = set()
    for pattern in (*export.grants, *export.members):
        rows = read_csv(spark, folder, export, pattern, ())
        if set(plain_grants.HEADER.columns) <= set(rows.columns):
            plain_frames.append(plain_grants.read_files(spark, folder, export, pattern))
            continue
        layout = _find_layout(rows, export, pattern, form.layouts)
        layout_names.add(layout.name)
        described_frames.append(_describe_rows(rows, export, layout))
    described_rows = reduce(DataFrame.union, described_frames) if described_frames else None
    return DescribedFiles(described_rows, plain_frames, frozenset(layout_names))


def describe_file(
    spark: SparkSession, folder: str, export: Export, pattern: str, layouts: Sequence[Layout]
) -> DataFrame:
    """Return the described rows of files in one of the layouts. Raises BadExports."""
    rows = read_csv(spark, folder, export, pattern, ())
    return _describe_rows(rows, export, _find_layout(rows, export, pattern, layouts))


def choose_layout(columns: Sequence[str], export: Export, pattern: str, layouts: Sequence[Layout]) -> Layout:
    """Return the first layout that has the columns of a file. Raises BadExports, naming those that come close."""
    layouts_by_header = {layout.header: layout for layout in reversed(layouts)}
    return layouts_by_header[choose_header(columns, export, pattern, [layout.header for layout in layouts])]


def _find_layout(rows: DataFrame, export: Export, pattern: str, layouts: Sequence[Layout]) -> Layout:
    columns = [name for name in rows.columns if name not in LINE_COLUMNS]
    return choose_layout(columns, export, pattern, layouts)


def _describe_rows(rows: DataFrame, export: Export, layout: Layout) -> DataFrame:
    described_columns = dict.fromkeys(_TEXT_COLUMNS, NO_TEXT) | dict(layout.describe(rows, export))
    described_columns["layout"] = quote_text(layout.name) if layout.name else NO_TEXT
    described_columns["granted_by"] = next((name for name in _GRANTOR_COLUMNS if name in rows.columns), NO_TEXT)
    return rows.selectExpr(*LINE_COLUMNS, *(f"{text} AS {name}" for name, text in described_columns.items()))


def list_databases(rows: DataFrame) -> list[str]:
    """Return the databases that described rows about tables and their containers name."""
    database = f"substring_index(path, {quote_text(SEPARATOR)}, 1) AS name"
    named_rows = rows.filter(f"{_IS_TABLE_ROW} AND path <> ''").selectExpr(database).distinct()
    return sorted(row["name"] for row in named_rows.collect())


def check_database(rows: DataFrame, export: Export) -> None:
    """Raise BadExports when no described row is of the database of an export, and some are of another one."""
    if not export.database:
        return
    is_here = f"path = {quote_text(export.database)} OR startswith(path, {quote_text(export.database + SEPARATOR)})"
    if not rows.filter(f"{_IS_TABLE_ROW} AND ({is_here})").head(1) and (databases := list_databases(rows)):
        raise BadExports(
            f"The files of the export {export.name} are of the database {', '.join(databases)}, and exports.json says "
            f"that they are of {export.database}."
        )


def build_facts(rows: DataFrame, export: Export, form: LayoutForm) -> DataFrame:
    """Return the facts of described rows."""
    return build_csv_facts(mark_types(rows), export, _decide_outcome(form))


def _decide_outcome(form: LayoutForm) -> RowOutcome:
    is_harmless = f"privilege IN {list_texts(form.harmless)}"
    if form.harmless_start:
        is_harmless += f" OR startswith(privilege, {quote_text(form.harmless_start)})"
    reason = f"""coalesce(said_problem, {MISSING_NAMES}, CASE
        WHEN NOT on_role AND privilege = '' THEN 'It names no privilege.'
        WHEN NOT CASE WHEN on_role THEN to_role OR to_person ELSE to_holder END
            THEN concat('Nobody is a ', grantee_type, '.')
        WHEN (on_table OR on_container) AND coalesce(said_rule, said_kind) IS NULL AND bit IS NULL
            AND NOT ({is_harmless}) THEN {UNKNOWN_LEVEL} END)"""
    rule = f"""CASE
        WHEN said_rule IS NOT NULL THEN said_rule
        WHEN on_role OR said_kind IS NOT NULL THEN NULL
        WHEN NOT on_table AND NOT on_container THEN '{PassRule.OTHER_OBJECT}'
        WHEN bit IS NULL THEN '{PassRule.NO_DATA_PRIVILEGE}' END"""
    kind = f"""CASE
        WHEN said_kind IS NOT NULL THEN said_kind
        WHEN on_role AND privilege IN ('MEMBER', '') AND to_role THEN '{FactKind.INHERIT}'
        WHEN on_role AND privilege IN ('MEMBER', '') THEN '{FactKind.MEMBER}'
        WHEN on_role THEN '{FactKind.ROLE}'
        ELSE '{FactKind.GRANT}' END"""
    return RowOutcome(reason, rule, kind)


# -- what layouts are made of, as expressions of SQL ------------------------------------------------------------------


def join_path(*parts: str) -> str:
    """Return the name of an object by its parts, '' where one of them is missing."""
    return f"coalesce(concat({f', {quote_text(SEPARATOR)}, '.join(parts)}), '')"


def describe_membership(role: str, grantee: str, grantee_type: str) -> dict[str, str]:
    """Return the columns of a membership of a role."""
    columns = {"object_type": "'ROLE'", "path": role, "privilege": "'MEMBER'"}
    return {**columns, "grantee_type": grantee_type, "grantee": grantee}


def describe_role(name: str) -> dict[str, str]:
    """Return the columns of a row that lists a role."""
    columns = {"object_type": "'ROLE'", "path": name, "privilege": "'EXISTS'"}
    return {**columns, "grantee_type": "'ROLE'", "grantee": name}
