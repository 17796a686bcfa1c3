"""What a warehouse that can be reached says of itself: one small interface, so that nobody beside it knows its client.

Three verbs: list (read the tables of an export), grant and revoke (statements, all or none). No Spark and no Django.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO


class ConnectorProblem(Exception):
    """A source cannot be read or changed; the message is a sentence without a password, and without an address of one.

    Raised `from None`: messages of clients may repeat what they were given.
    """


@dataclass(frozen=True, slots=True)
class Address:
    """Where a source is, without its secrets."""

    host: str
    database: str
    role: str


@dataclass(frozen=True, slots=True)
class Right:
    """One right of the role that reads: whether it has it, and what that means."""

    name: str
    is_held: bool
    meaning: str
    #: Whether somebody should do something about it.
    is_odd: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read, where, and by whom; `identity` is that of the server and its database."""

    database: str
    role: str
    version: str
    identity: str
    row_counts: Mapping[str, int]
    rights: Sequence[Right]


#: Opens a file of the export by its name.
FileOpener = Callable[[str], AbstractContextManager[BinaryIO]]
#: Is told which of how many tables is read next.
ProgressReporter = Callable[[str, int, int], None]


class Connector(ABC):
    """A system that can be reached by a text with address and password (DSN), which is never kept."""

    #: The name of the warehouse, which is the form of its exports.
    warehouse: str

    @abstractmethod
    def describe_address(self, dsn: str) -> Address:
        """Return where a DSN leads; nothing is asked. Raises ConnectorProblem."""

    @abstractmethod
    def list_files(self) -> Mapping[str, Sequence[str]]:
        """Return the names of the files that `read_tables` makes, by the keys of exports.json."""

    @abstractmethod
    def read_tables(
        self, dsn: str, *, seconds: float, open_file: FileOpener, report_progress: ProgressReporter
    ) -> Reading:
        """Write the tables of the export, all from one state of the source, within these seconds.

        Raises ConnectorProblem; what was written then is no export.
        """
