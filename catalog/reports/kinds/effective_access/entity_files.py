"""Rows of the table of entities: each partition writes those of its own entities, sorted, and the job merges the files.

So neither a process of Spark nor the job has the rows of all entities at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from catalog.reports.spark.sorted_files import merge_sorted_files, write_sorted_file
from catalog.reports.storage import StorageFolder, parse_address

if TYPE_CHECKING:
    from array import array

#: Schema of the table of results.
SCHEMA = pa.schema([("privilege", pa.string()), ("entity", pa.string()), ("people", pa.int64())])

_SORT_KEYS = (("people", "descending"), ("entity", "ascending"))


@dataclass(frozen=True, slots=True)
class EntityFile:
    """A file with the people of each entity of a partition for one privilege, and how many entities these are."""

    privilege: str
    name: str
    entities: int
    unreached_entities: int


@dataclass(frozen=True, slots=True)
class EntityFileWriter:
    """Writes the files of one partition into the folder at a URL; `prefix` is that of their names, and of no others."""

    folder_url: str
    prefix: str
    urns: pa.Array

    def write(self, privilege: str, number: int, counts_by_entity: "array[int]") -> EntityFile:
        """Write how many people reach each entity, in the order of the URNs. Raises OSError.

        `number` is that of the privilege, whose name may have what storage refuses in names.
        """
        counts = pa.Array.from_buffers(pa.int64(), len(self.urns), [None, pa.py_buffer(counts_by_entity)])
        rows = pa.table({"entity": self.urns, "people": counts})
        name = f"{self.prefix}-{number}"
        write_sorted_file(parse_address(self.folder_url), name, rows, _SORT_KEYS)
        return EntityFile(privilege, name, len(self.urns), counts_by_entity.count(0))


def merge_entity_files(folder: StorageFolder, names: Mapping[str, Sequence[str]]) -> Iterator[pa.Table]:
    """Yield the rows of the files of each privilege: most people first, then by URN. Raises OSError."""
    for privilege, file_names in names.items():
        for rows in merge_sorted_files(folder, file_names, _SORT_KEYS):
            yield rows.add_column(0, "privilege", pa.repeat(pa.scalar(privilege), rows.num_rows))
