"""How many queries pages ask for few rows and for many, counted once for a module: writing many takes long."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from policies.pdp import snapshot_store
from tests.forgetting import forget_rows

#: An address with what is asked there.
Question = tuple[str, tuple[tuple[str, str], ...]]


def compare_costs(
    client: Client, questions: Collection[Question], *, fill: Callable[[int, int], object], few: int, many: int
) -> dict[Question, tuple[int, int]]:
    """Return for each question its queries with `few` rows and with `many`; the rows are taken back.

    `fill` writes the rows of a range of numbers. It is for fixtures of modules with a transaction around their tests.
    """
    found: list[dict[Question, int]] = []
    with _taken_back():
        for first, last in ((0, few), (few, many)):
            fill(first, last)
            found.append({question: _count_queries(client, question) for question in questions})
    return {question: (found[0][question], found[1][question]) for question in questions}


@contextmanager
def _taken_back() -> Iterator[None]:
    around = transaction.atomic()
    # As for the block around each test: what happens inside must not take it for a transaction of its own.
    around._from_testcase = True  # type: ignore[attr-defined]  # what Django's TestCase sets
    with pytest.MonkeyPatch.context() as patch, around:
        # Otherwise some questions look at the version of the policies and some do not.
        patch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
        forget_rows()
        yield
        transaction.set_rollback(True)
    forget_rows()


def _count_queries(client: Client, question: Question) -> int:
    """Count them at the second time: the first one learns what stays known."""
    path, data = question
    client.get(path, dict(data))
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path, dict(data)).status_code == 200, path
    return len(captured)
