"""Published layouts of columns of warehouses' own views, in CSV: what the rows of each say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms import plain
from catalog.reports.kinds.role_mapping_check.forms.csv_grants import (
    build_csv_facts,
    find_missing_names,
    mark_types,
    on_container,
    on_role,
    on_table,
    to_holder,
    to_person,
    to_role,
)
from catalog.reports.kinds.role_mapping_check.forms.csv_rows import read_csv
from catalog.reports.kinds.role_mapping_check.forms.lines import LINE_COLUMNS
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome, describe_unknown_level
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule

DescribeRows = Callable[[DataFrame, Export], Mapping[str, Column]]

_TEXT_COLUMNS = ("object_type", "path", "privilege", "grantee_type", "grantee", "said_rule", "said_problem")


@dataclass(frozen=True, slots=True)
class Layout:
    """One layout: the columns by which its files are recognized, and what its rows say.

    `describe` returns object_type, path, privilege, grantee_type and grantee, as `build_csv_facts` expects them, of
    rows of an export; and `said_rule` and `said_problem` where the layout itself passes rows or finds them wrong.
    """

    columns: tuple[str, ...]
    describe: DescribeRows


@dataclass(frozen=True, slots=True)
class LayoutForm:
    """A form that consists of layouts, the most specific one first.

    `harmless` are its privileges that do not reach data; `harmless_start` is how further ones begin, '' if none do.
    """

    layouts: Sequence[Layout]
    harmless: Sequence[str]
    harmless_start: str = ""


def read_export(spark: SparkSession, folder: str, export: Export, form: LayoutForm) -> list[DataFrame]:
    """Return the facts of an export; each of its files has any layout of the form, or that of the plain form."""
    described_rows, plain_frames = describe_files(spark, folder, export, form)
    return plain_frames if described_rows is None else [*plain_frames, build_facts(described_rows, export, form)]


def describe_files(
    spark: SparkSession, folder: str, export: Export, form: LayoutForm
) -> tuple[DataFrame | None, list[DataFrame]]:
    """Return the described rows of files in the layouts of a form, if any, and the facts of those in the plain form."""
    described_frames: list[DataFrame] = []
    plain_frames: list[DataFrame] = []
    for pattern in (*export.grants, *export.members):
        rows = read_csv(spark, folder, export, pattern, ())
        if not set(plain.COLUMNS) - set(rows.columns):
            plain_frames.append(plain.read_files(spark, folder, export, pattern))
            continue
        described_frames.append(_describe_rows(rows, export, pattern, form.layouts))
    return reduce(DataFrame.union, described_frames) if described_frames else None, plain_frames


def describe_file(
    spark: SparkSession, folder: str, export: Export, pattern: str, layouts: Sequence[Layout]
) -> DataFrame:
    """Return the described rows of files in one of the layouts. Raises BadExports."""
    return _describe_rows(read_csv(spark, folder, export, pattern, ()), export, pattern, layouts)


def _choose_layout(columns: Sequence[str], export: Export, pattern: str, layouts: Sequence[Layout]) -> Layout:
    """Return the first layout all of whose columns are there. Raises BadExports, naming what the nearest one lacks."""
    missing_columns = {layout: [name for name in layout.columns if name not in columns] for layout in layouts}
    layout = min(layouts, key=lambda layout: len(missing_columns[layout]) / len(layout.columns))
    if missing_columns[layout]:
        missing_name = missing_columns[layout][0]
        raise BadExports(f"The files {pattern} of the export {export.name} lack the column {missing_name}.")
    return layout


def _describe_rows(rows: DataFrame, export: Export, pattern: str, layouts: Sequence[Layout]) -> DataFrame:
    layout = _choose_layout(rows.columns, export, pattern, layouts)
    nothing = dict.fromkeys(_TEXT_COLUMNS, f.lit(None).cast("string"))
    described_columns = nothing | dict(layout.describe(rows, export))
    return rows.select(*LINE_COLUMNS, *(column.alias(name) for name, column in described_columns.items()))


def build_facts(rows: DataFrame, export: Export, form: LayoutForm) -> DataFrame:
    """Return the facts of described rows."""
    return build_csv_facts(mark_types(rows), export, _decide_outcome(form))


def _decide_outcome(form: LayoutForm) -> RowOutcome:
    is_membership = f.col("privilege").isin("MEMBER", "")
    is_harmless = f.col("privilege").isin(*form.harmless)
    if form.harmless_start:
        is_harmless |= f.col("privilege").startswith(form.harmless_start)
    reaches_data = (on_table() | on_container()) & f.col("said_rule").isNull()
    reason = f.coalesce(
        f.col("said_problem"),
        find_missing_names(),
        f.when(~on_role() & (f.col("privilege") == ""), "It names no privilege.")
        .when(~f.when(on_role(), to_role() | to_person()).otherwise(to_holder()), _describe_unknown_grantee())
        .when(reaches_data & f.col("bit").isNull() & ~is_harmless, describe_unknown_level()),
    )
    rule = (
        f.when(f.col("said_rule").isNotNull(), f.col("said_rule"))
        .when(on_role(), f.lit(None))
        .when(~on_table() & ~on_container(), PassRule.OTHER_OBJECT)
        .when(f.col("bit").isNull(), PassRule.NO_DATA_PRIVILEGE)
    )
    kind = (
        f.when(on_role() & is_membership & to_role(), FactKind.INHERIT)
        .when(on_role() & is_membership, FactKind.MEMBER)
        .when(on_role(), FactKind.ROLE)
        .otherwise(FactKind.GRANT)
    )
    return RowOutcome(reason, rule, kind)


def _describe_unknown_grantee() -> Column:
    return f.concat(f.lit("Nobody is a "), "grantee_type", f.lit("."))


# -- what layouts are made of -----------------------------------------------------------------------------------------


def join_path(*parts: str | Column) -> Column:
    """Return the name of an object by its parts, '' where one of them is missing."""
    columns = [f.col(part) if isinstance(part, str) else part for part in parts]
    return f.coalesce(f.concat(*_put_between(columns, f.lit(SEPARATOR))), f.lit(""))


def _put_between(columns: Sequence[Column], mark: Column) -> list[Column]:
    return [part for column in columns for part in (mark, column)][1:]


def describe_membership(role: str | Column, grantee: str | Column, grantee_type: str | Column) -> dict[str, Column]:
    """Return the columns of a membership of a role."""
    role, grantee, grantee_type = (
        f.col(part) if isinstance(part, str) else part for part in (role, grantee, grantee_type)
    )
    return {
        "object_type": f.lit("ROLE"),
        "path": role,
        "privilege": f.lit("MEMBER"),
        "grantee_type": grantee_type,
        "grantee": grantee,
    }


def describe_role(name: str) -> dict[str, Column]:
    """Return the columns of a row that lists a role."""
    columns = {"object_type": f.lit("ROLE"), "path": f.col(name), "privilege": f.lit("EXISTS")}
    return {**columns, "grantee_type": f.lit("ROLE"), "grantee": f.col(name)}
