"""The open tables as tables of Delta Lake: the same files, which a log beside them names as the manifest does.

A run is one commit in the log of each table, under its id, so that a repeated commit of a run is recognized. No Django.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from catalog.reports.result_tables.manifest import ManifestEntry
from catalog.reports.result_tables.schemas import PARTITION_COLUMNS, TABLES, OpenTable
from catalog.reports.storage import StorageFolder

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, RemoveAction


def commit_entry(folder: StorageFolder, entry: ManifestEntry) -> None:
    """Commit the files of a run to the logs of their tables, where they are not yet. Raises OSError."""
    from deltalake.transaction import CommitProperties, Transaction

    for name in sorted({file["table"] for file in entry["files"]}):
        with _report_errors():
            delta_table = _open_table(folder, TABLES[name])
            if delta_table.transaction_version(entry["run"]) is None:
                delta_table.create_write_transaction(
                    _build_actions(entry, name),
                    "append",
                    delta_table.schema(),
                    list(PARTITION_COLUMNS),
                    commit_properties=CommitProperties(app_transactions=[Transaction(entry["run"], entry["attempt"])]),
                )


def delete_entry(folder: StorageFolder, entry: ManifestEntry) -> None:
    """Take the rows of a run out of the tables; its files stay. Raises OSError."""
    for name in sorted({file["table"] for file in entry["files"]}):
        with _report_errors():
            partition = f"report = '{entry['kind']}' AND day = '{entry['day']}'"
            _open_table(folder, TABLES[name]).delete(f"{partition} AND run = '{entry['run']}'")


def _open_table(folder: StorageFolder, table: OpenTable) -> "DeltaTable":
    """Return a table, created where it is not there, with all columns of its schema."""
    from deltalake import DeltaTable, Schema

    arrow_schema = table.build_arrow_schema()
    arrow_schema = arrow_schema.append(pa.field("report", pa.string())).append(pa.field("day", pa.date32()))
    schema = Schema.from_arrow(arrow_schema)
    table_folder = folder / table.name
    table_folder.create()
    delta_table = DeltaTable.create(
        table_folder.url,
        schema,
        mode="ignore",
        partition_by=list(PARTITION_COLUMNS),
        # The library knows neither where a bucket is nor that a server without TLS is meant.
        storage_options=table_folder.read_s3_options(),
    )
    known_names = {field.name for field in delta_table.schema().fields}
    if new_fields := [field for field in schema.fields if field.name not in known_names]:
        delta_table.alter.add_columns(new_fields)
    return delta_table


def _build_actions(entry: ManifestEntry, name: str) -> "list[AddAction | RemoveAction]":
    from deltalake.transaction import AddAction

    return [
        AddAction(
            path=file["path"].removeprefix(f"{name}/"),
            size=file["bytes"],
            partition_values={"report": entry["kind"], "day": entry["day"]},
            modification_time=0,
            data_change=True,
            stats=json.dumps({"numRecords": file["rows"]}),
        )
        for file in entry["files"]
        if file["table"] == name
    ]


@contextmanager
def _report_errors() -> Iterator[None]:
    """Raise what the library raises as OSError: all of it is about storage, or about another one who was faster."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except DeltaError as error:
        raise OSError(str(error)) from error
