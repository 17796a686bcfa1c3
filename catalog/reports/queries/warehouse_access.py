"""Who can read what in the warehouses, by the last runs: declared in the catalog, granted in the source, and used."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from catalog.models import Report, ReportRow
from catalog.reports.queries import report_rows
from catalog.reports.tables import ResultTable
from catalog.reports.warehouse_tables import ACCESS, HOLDERS, MAX_ACCESS, USES
from catalog.warehouses.principals import EVERYBODY_NAMES, describe_principal
from policies.models.people import USER_PREFIX

#: Roles of one person, and uses of the datasets of one page, that are looked at.
MAX_ROLES, MAX_USES = 5_000, 20_000


@dataclass(frozen=True, slots=True)
class WarehouseRuns:
    """The last runs that came through, None where there is none: of the role mapping check, and of warehouse usage."""

    mapping: Report | None
    usage: Report | None


@dataclass(frozen=True, slots=True)
class AccessPosition:
    """The access of one grantee to one dataset: the object of the grant, the levels granted and declared, and the uses.

    `through` is the role by which a person has it, where the question is about one. `used` is the last use by such a
    grant, `people` how many hold the role that has it; None where nobody knows.
    """

    dataset: str
    grantee: str
    through: str | None
    declared: str | None
    granted: str | None
    used: str | None
    people: int | None
    export: str


def find_runs() -> WarehouseRuns:
    """Return the runs that the tables come from."""
    newest = report_rows.find_newest_by_kind(is_ready=True)
    return WarehouseRuns(newest.get("role_mapping_check"), newest.get("warehouse_usage"))


def list_rows(run: Report, *, dataset: str = "", person: str = "", tag: str = "") -> QuerySet[ReportRow]:
    """Return the rows of access, the sensitive datasets first.

    `dataset` is a URN or words of one, `person` the URN or the name of a user, group or role, of whom all is shown that
    they have, also through roles and as everybody does; `tag` is a tag of sensitive datasets.
    """
    table = ACCESS
    is_urn = dataset.startswith("urn:li:")
    rows = report_rows.list_rows(
        run=run,
        table=table.name,
        text="" if is_urn else dataset,
        values_by_column={_find(table, "dataset"): dataset} if is_urn else {},
    )
    if person:
        grantees = {*_list_names(person), *(role for role, _ in _list_roles(run, person)), *_EVERYBODY}
        rows = report_rows.select_values(rows, column=_find(table, "grantee"), values=grantees)
    if tag:
        rows = report_rows.select_line(rows, column=_find(table, "tags"), line=tag)
    return rows


def build_positions(runs: WarehouseRuns, rows: Iterable[ReportRow], *, person: str = "") -> list[AccessPosition]:
    """Return what these rows of access say, with the uses; the number of queries does not depend on them."""
    if runs.mapping is None:
        return []
    access = [_read(ACCESS, row) for row in rows]
    uses = _find_uses(runs.usage, {row["dataset"] for row in access}, person)
    roles = dict(_list_roles(runs.mapping, person)) if person else {}
    people = _count_people(runs.mapping, {row["grantee"] for row in access})
    return [
        AccessPosition(
            dataset=row["dataset"],
            grantee=row["grantee"],
            through=_describe_way(row, roles),
            declared=row["declared"],
            granted=row["level"],
            used=uses.get((row["dataset"], row["grantee"], row["export"])),
            people=people.get((row["grantee"], row["export"])),
            export=row["export"],
        )
        for row in access
    ]


def list_unexplained(runs: WarehouseRuns, *, dataset: str, limit: int) -> list[dict[str, Any]]:
    """Return the uses of a dataset that rest on no grant of the export: who, when, at which level, by which export."""
    if runs.usage is None or not dataset.startswith("urn:li:"):
        return []
    table = USES
    rows = report_rows.list_rows(run=runs.usage, table=table.name, values_by_column={_find(table, "dataset"): dataset})
    read = (_read(table, row) for row in rows[:MAX_USES])
    return [row for row in read if row["grantee"] is None][:limit]


def is_listed(runs: WarehouseRuns, *, dataset: str) -> bool:
    """Whether all access to a dataset is listed: the run lists it, or lists all datasets."""
    if runs.mapping is None:
        return False
    return list_rows(runs.mapping, dataset=dataset).exists() or not any(
        note.startswith("Who can read what is listed for") for note in (runs.mapping.summary or {}).get("notes", ())
    )


def find_holders(run: Report, *, people: Collection[str], roles: Collection[str]) -> set[tuple[str, str]]:
    """Return which of these people (URNs) hold which of these external roles by a run, as pairs.

    The table lists up to MAX_ACCESS holders, so a pair that is absent may be one that is not listed.
    """
    rows = report_rows.list_rows(run=run, table=HOLDERS.name)
    rows = report_rows.select_values(rows, column=_find(HOLDERS, "holder"), values=people)
    rows = report_rows.select_values(rows, column=_find(HOLDERS, "role"), values=roles)
    records = (_read(HOLDERS, row) for row in rows[:MAX_ACCESS])
    return {(record["holder"], record["role"]) for record in records}


#: Everybody, as tables name it.
_EVERYBODY = frozenset({*EVERYBODY_NAMES, *(describe_principal(f"specialGroup:{name}") for name in EVERYBODY_NAMES)})


def _find(table: ResultTable, name: str) -> int:
    return [column.name for column in table.columns].index(name)


def _read(table: ResultTable, row: ReportRow) -> dict[str, Any]:
    return dict(zip((column.name for column in table.columns), row.values, strict=False))


def _list_names(person: str) -> Sequence[str]:
    return (person,) if person.startswith("urn:li:") else (person, f"{USER_PREFIX}{person}")


def _list_roles(run: Report, person: str) -> list[tuple[str, str]]:
    """Return the roles of a person, with what they hold to have these, "" for the role itself; MAX_ROLES at most."""
    table = HOLDERS
    rows = report_rows.list_rows(run=run, table=table.name)
    rows = report_rows.select_values(rows, column=_find(table, "holder"), values=_list_names(person))
    return [(row["role"], row["through"] or "") for row in (_read(table, row) for row in rows[:MAX_ROLES])]


def _count_people(run: Report, grantees: Collection[str]) -> dict[tuple[str, ...], int]:
    """Return how many users hold each of these roles, by role and export."""
    table = HOLDERS
    columns = [_find(table, name) for name in ("role", "export")]
    rows = report_rows.list_rows(run=run, table=table.name, values_by_column={_find(table, "kind"): "USER"})
    rows = report_rows.select_values(rows, column=columns[0], values=grantees)
    return report_rows.count_values(rows, columns=columns)


def _find_uses(run: Report | None, datasets: Collection[str], person: str) -> dict[tuple[str, str, str], str]:
    """Return the last use of each of these datasets by a grant to each grantee, by dataset, grantee and export."""
    if run is None:
        return {}
    table = USES
    rows = report_rows.list_rows(run=run, table=table.name)
    rows = report_rows.select_values(rows, column=_find(table, "dataset"), values=datasets)
    if person:
        rows = report_rows.select_values(rows, column=_find(table, "person"), values=_list_names(person))
    last: dict[tuple[str, str, str], str] = {}
    for row in (_read(table, row) for row in rows[:MAX_USES]):
        key = (row["dataset"], row["grantee"], row["export"])
        last[key] = max(last.get(key, ""), row["last"])
    return last


def _describe_way(row: Mapping[str, Any], roles: Mapping[str, str]) -> str | None:
    """Return by which role, and on which container, somebody has access; None for a grant of theirs on the dataset."""
    way = [roles.get(row["grantee"], ""), f"on {row['through']}" if row["through"] else ""]
    return ", ".join(filter(None, way)) or None
