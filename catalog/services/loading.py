"""Loads whole files of proposals: each file is stored completely or not at all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from django.db import transaction

from catalog.services import files, intake, proposals
from catalog.services.intake import Proposal
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file brought: the number of its proposals, and of the entities they touched."""

    proposals: int
    entities: int


def load(*, stream: IO[bytes], by: Actor, door: str, progress: Callable[[int], None] = lambda _: None) -> Loaded:
    """Store every proposal of a file, in one transaction.

    `progress` hears the number read so far, now and then. Raises Invalid with every problem of every proposal, placed
    at its index in the list; then nothing of the file is stored. Raises Forbidden like `proposals.apply`.
    """
    writing = _Writing(by, door)
    with transaction.atomic():
        for proposal, problems in files.read(stream):
            writing.take(proposal, problems)
            if writing.count % _BATCH == 0:
                progress(writing.count)
        writing.flush()
        if writing.problems:
            raise Invalid(sorted(writing.problems, key=_position))
    progress(writing.count)
    return Loaded(writing.count, len(writing.touched))


def _position(problem: Problem) -> int:
    """Return the index of the entry that a problem is about: entries are checked before the batch they are in."""
    return int(problem.pointer.split("/")[1])


class _Writing:
    """Batches on their way in. After the first problem the rest is only checked, to name what else is wrong."""

    def __init__(self, by: Actor, door: str) -> None:
        self._by = by
        self._door = door
        self._batch: list[Proposal] = []
        self.count = 0
        self.problems: list[Problem] = []
        self.touched: set[str] = set()

    def take(self, proposal: Proposal | None, problems: list[Problem]) -> None:
        """Take in one entry of the file."""
        self.count += 1
        self.problems += problems
        if proposal is not None:
            self._batch.append(proposal)
        if len(self._batch) == _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write or check what has gathered."""
        batch, self._batch = self._batch, []
        try:
            if self.problems:
                intake.check(batch)
            elif batch:
                self.touched |= proposals.apply(proposals=batch, by=self._by, door=self._door).touched
        except Invalid as error:
            self.problems += error.problems
