"""Import of proposal files: each is checked as a whole, then stored in chunks, each completely or not at all."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, TypeVar

from django.db import connection

from catalog.ingest import apply, file_reader, validate
from catalog.ingest.validate import Proposal
from policies.engine.errors import MAX_PROBLEMS, Problem
from policies.engine.model import Actor
from policies.errors import Invalid, PolicyAppError

EntryT = TypeVar("EntryT")

#: Maximum number of proposals in one transaction. Other writers of documents wait for one at most.
MAX_PROPOSALS_PER_WRITE = 1000

#: Pause after each chunk on SQLite, so that other writers, which poll at this interval, get a turn.
_SQLITE_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Result of an import: the number of proposals, and of the touched entities."""

    proposals: int
    entities: int


class ImportInterrupted(PolicyAppError):
    """A proposal was refused after earlier chunks were stored; `stored_count` is the number of proposals in them."""

    def __init__(self, stored_count: int, error: PolicyAppError) -> None:
        self.stored_count = stored_count
        self.error = error
        super().__init__(str(error))


def load(
    *, stream: IO[bytes], by: Actor, channel: str, on_progress: Callable[[int], None] = lambda _: None
) -> ImportResult:
    """Store every proposal of a file, MAX_PROPOSALS_PER_WRITE in one transaction; `stream` is read twice.

    `on_progress` is called with the number stored so far. The file is checked first: raises Invalid with every problem
    that needs no database to detect, with the index in the list as pointer, and then nothing is stored. Problems that
    only the database shows (a CREATE of something existing, a missing privilege) raise ImportInterrupted, and earlier
    chunks stay stored: importing the file again stores nothing twice.
    """
    _check_file(stream)
    stream.seek(0)
    count, touched_urns = 0, set[str]()
    for piece in _cut(_read_proposals(stream)):
        if count:
            _let_others_write()
        try:
            touched_urns |= apply.apply(proposals=piece, by=by, channel=channel).touched_urns
        except PolicyAppError as error:
            raise ImportInterrupted(count, error) from error
        count += len(piece)
        on_progress(count)
    return ImportResult(count, len(touched_urns))


def _check_file(stream: IO[bytes]) -> None:
    all_problems: list[Problem] = []
    for piece in _cut(file_reader.read(stream)):
        all_problems += (problem for _, problems in piece for problem in problems)
        try:
            validate.check([proposal for proposal, _ in piece if proposal is not None])
        except Invalid as error:
            all_problems += error.problems
        if len(all_problems) > MAX_PROBLEMS:
            break
    if all_problems:
        raise Invalid(sorted(all_problems, key=_entry_index))


def _read_proposals(stream: IO[bytes]) -> Iterator[Proposal]:
    return (proposal for proposal, _ in file_reader.read(stream) if proposal is not None)


def _cut(entries: Iterable[EntryT]) -> Iterator[list[EntryT]]:
    remaining = iter(entries)
    while piece := list(islice(remaining, MAX_PROPOSALS_PER_WRITE)):
        yield piece


def _entry_index(problem: Problem) -> int:
    """Return the index of the entry of a problem: entries are checked before the chunk that contains them."""
    return int(problem.pointer.split("/")[1])


def _let_others_write() -> None:
    """Pause for other writers: SQLite has no queue of writers, so an immediate next write could starve them."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(_SQLITE_PAUSE_SECONDS)
