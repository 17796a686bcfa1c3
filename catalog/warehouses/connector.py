"""The interface of a warehouse that can be reached: a small one, so that nobody beside it knows its client.

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
    """The origin of a snapshot: where it was read, and by whom; `identity` is that of the server and its database."""

    database: str
    role: str
    version: str
    identity: str
    row_counts: Mapping[str, int]
    rights: Sequence[Right]


@dataclass(frozen=True, slots=True, order=True)
class AccessFact:
    """Somebody has a privilege on something, as the system itself answers."""

    holder: str
    privilege: str
    on: str


@dataclass(frozen=True, slots=True)
class AccessOutcome:
    """Who gains and who loses what."""

    gained: Sequence[AccessFact]
    lost: Sequence[AccessFact]


class StatementRefused(ConnectorProblem):
    """One of the statements failed, and none has changed anything; `position` is its place among them."""

    def __init__(self, sentence: str, position: int) -> None:
        self.position = position
        super().__init__(sentence)


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

    @abstractmethod
    def split_repair(self, repair: str) -> list[str]:
        """Return the statements of a repair. Raises ConnectorProblem for what the dialect would not write."""

    @abstractmethod
    def try_statements(self, dsn: str, statements: Sequence[str], *, identity: str, seconds: float) -> AccessOutcome:
        """Return what the statements would change for everybody: they are run and taken back.

        `identity` is that of the place they are meant for. Raises StatementRefused and ConnectorProblem.
        """

    @abstractmethod
    def apply_statements(
        self,
        dsn: str,
        statements: Sequence[str],
        *,
        identity: str,
        seconds: float,
        expected: AccessOutcome,
        report_progress: ProgressReporter,
    ) -> None:
        """Run the statements in one transaction, which is kept only if it changes what is expected, and nothing else.

        Raises StatementRefused and ConnectorProblem; then nothing is changed, unless the message says that it is not
        known.
        """
