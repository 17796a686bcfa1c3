"""A server that is there and says nothing: its processes are stopped, so the kernel takes what is sent to it.

Answers keep to their budget, health is told at once, and everything is right again when the server goes on.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from time import monotonic, sleep

import pytest

from tests.faults import worlds
from tests.faults.judging import OLDEST
from tests.faults.sites import LOOKS, REQUEST_SECONDS, Caller, Site
from tests.faults.test_faults import AROUND, judged
from tests.faults.watching import Away, watched

#: Seconds for which a server is stopped: longer than a decision and a write may wait.
FROZEN_SECONDS = 6.0

#: Seconds that a decision may wait, and how much later its answer may be here on a machine that has other things to do.
DECISION_SECONDS, MARGIN = 2.0, 1.0

#: Seconds in which health is told.
HEALTH_SECONDS = 1.0

#: More callers than a process works for at once.
CALLERS = 32


class Health:
    """What was said about the health of a process: when it was asked, for how many seconds, and the status."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[float, float, int]]] = {"/health/live": [], "/health/ready": []}

    def list_seconds(self, path: str) -> list[float]:
        """Return how many seconds each answer took."""
        return [seconds for _, seconds, _ in self.seen[path]]

    def statuses(self, path: str, begin: float, end: float) -> set[int]:
        """Return the statuses of what was asked and answered in between."""
        return {status for asked, seconds, status in self.seen[path] if begin <= asked and asked + seconds < end}


@contextmanager
def examined(site: Site) -> Iterator[Health]:
    """Ask for both kinds of health of one process, again and again until the block ends."""
    health, over = Health(), threading.Event()

    def ask(path: str) -> None:
        with site.calling() as caller:
            while not over.wait(0.1):
                begin = monotonic()
                status = caller.call("GET", path).status
                health.seen[path].append((begin, monotonic() - begin, status))

    with ThreadPoolExecutor(len(health.seen)) as threads:
        asking = [threads.submit(ask, path) for path in health.seen]
        try:
            yield health
        finally:
            over.set()
        for one in asking:
            one.result()


def check_promptness(health: Health) -> None:
    """Both kinds are told in a second; a machine that has other things to do may hand single answers over later."""
    for path in health.seen:
        told = health.list_seconds(path)
        assert median(told) < HEALTH_SECONDS
        assert max(told) < HEALTH_SECONDS + MARGIN


def test_postgresql_is_stopped(site: Site, facts: dict[str, int]) -> None:
    with watched(site, facts=facts, seed=5) as record, examined(site) as health:
        sleep(AROUND)
        frozen = monotonic()
        site.database.freeze()
        try:
            refused = _ask_all_at_once(site)
            sleep(max(frozen + FROZEN_SECONDS - monotonic(), 0))
        finally:
            thawed = monotonic()
            site.database.thaw()
        back = _answers_again(site)
        record.away.append(Away(frozen, thawed, back))
        sleep(AROUND)
    judged(site, record)
    assert back - thawed < DECISION_SECONDS + MARGIN
    # Those of the world and of many callers at once alike: in time, and a refusal says when to ask again.
    slowest = max(answer.ended - answer.started for answer in record.answers)
    assert slowest < DECISION_SECONDS + MARGIN
    assert {status for _, status, _ in refused} == {503}
    assert all(seconds < DECISION_SECONDS + MARGIN and retry == "1" for seconds, _, retry in refused)
    assert max(write.acked - write.sent for write in record.policies) < REQUEST_SECONDS + MARGIN
    assert max(write.acked - write.sent for write in record.fact_writes) < REQUEST_SECONDS + MARGIN
    assert any(write.status == 503 for write in record.policies)
    check_promptness(health)
    assert health.statuses("/health/live", frozen, thawed) == {200}
    assert health.statuses("/health/ready", frozen + OLDEST, thawed) == {503}
    assert 200 in health.statuses("/health/ready", back, back + 2 * AROUND)


def _ask_all_at_once(site: Site) -> list[tuple[float, int, str | None]]:
    """Ask one process from more callers than it has places, once nothing may be answered from memory any more.

    Returns for each the seconds, the status and what Retry-After says.
    """
    sleep(OLDEST)

    def ask(number: int) -> tuple[float, int, str | None]:
        actor, privilege, resource = worlds.QUESTIONS[number % len(worlds.QUESTIONS)]
        question = {"actor": actor, "privilege": privilege, "resource": {"urn": resource}}
        with site.calling() as caller:
            begin = monotonic()
            reply = caller.call("POST", "/api/v1/authorize", question)
            return monotonic() - begin, reply.status, reply.headers["Retry-After"]

    with ThreadPoolExecutor(CALLERS) as threads:
        return list(threads.map(ask, range(CALLERS)))


def _answers_again(site: Site) -> float:
    """Return when every web process has answered a decision."""
    for number in range(len(site.webs)):
        with site.calling(number) as caller:
            assert any(_is_answered(caller) for _ in range(LOOKS))
    return monotonic()


def _is_answered(caller: Caller) -> bool:
    actor, privilege, resource = worlds.QUESTIONS[0]
    question = {"actor": actor, "privilege": privilege, "resource": {"urn": resource}}
    is_answered = caller.call("POST", "/api/v1/authorize", question).status == 200
    if not is_answered:
        sleep(0.05)
    return is_answered


@pytest.mark.drawn(2, "Redis")
def test_redis_is_stopped(site: Site, facts: dict[str, int]) -> None:
    with watched(site, facts=facts, seed=6) as record, examined(site) as health:
        sleep(AROUND)
        frozen = monotonic()
        site.broker.freeze()
        try:
            sleep(FROZEN_SECONDS)
        finally:
            thawed = monotonic()
            site.broker.thaw()
        sleep(AROUND)
    # Nothing is refused: Redis has no part in an answer, and a write is told later.
    judged(site, record)
    assert max(answer.ended - answer.started for answer in record.answers) < DECISION_SECONDS + MARGIN
    assert max(write.acked - write.sent for write in record.policies) < REQUEST_SECONDS
    check_promptness(health)
    assert health.statuses("/health/ready", frozen + OLDEST, thawed) == {503}
    assert 200 in health.statuses("/health/ready", thawed, thawed + 2 * AROUND)
