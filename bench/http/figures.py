"""Requests of a turn, and what the turns of all rounds come to."""

import statistics
from collections.abc import Sequence
from typing import Any

from bench.talking import Spent
from bench.worlds import Asked


def body_of(asked: Asked) -> dict[str, Any]:
    return {"actor": asked.person.urn, "privilege": asked.privilege, "resource": {"urn": asked.thing.urn}}


def evaluation_of(question: dict[str, Any]) -> dict[str, object]:
    """Return a question as AuthZEN asks it."""
    resource = question["resource"]["urn"]
    return {
        "subject": {"type": "user", "id": question["actor"].rpartition(":")[2]},
        "action": {"name": question["privilege"]},
        "resource": {"type": resource.split(":")[2], "id": resource},
    }


def slice_turn(requests: Sequence[bytes], number: int, count: int) -> Sequence[bytes]:
    start = number * count % len(requests)
    return (*requests[start : start + count], *requests[: max(0, start + count - len(requests))])


def rate(spent: Sequence[Spent]) -> float:
    return statistics.median(one.requests / one.clock for one in spent)


def work_us(spent: Sequence[Spent]) -> float:
    return statistics.median(one.work * 1e6 / one.requests for one in spent)


def ratio(spent: Sequence[Spent], base: Sequence[Spent], what: str) -> float:
    """Return how many times as fast, round by round: what else the machine did then, both had to suffer."""
    pairs = zip(spent, base, strict=True)
    found = [(getattr(b, what) / b.requests) / (getattr(one, what) / one.requests) for one, b in pairs]
    return float(statistics.median(found))
