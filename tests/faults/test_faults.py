"""Parts of an installation go away under load: every answer is right for the version it names, or there is none."""

import os
import signal
from time import monotonic, sleep

import psycopg
import pytest
from psycopg.rows import scalar_row

from tests.faults.judging import Judge
from tests.faults.sites import LOOKS, Site
from tests.faults.watching import Away, Record, watched

#: For how many seconds everybody writes and asks where nothing fails.
SECONDS = float(os.environ.get("FAULTS_SECONDS", "6"))

#: For how many seconds the site is watched before something fails, and after it is back.
AROUND = 2.0

#: Which of these connections waits for a lock, in the middle of reading policies.
_READING = """
    SELECT application_name FROM pg_stat_activity
    WHERE application_name = ANY(%s) AND wait_event_type = 'Lock' AND query LIKE 'SELECT%%policies_policy%%'
"""


def judged(site: Site, record: Record) -> None:
    """All processes agree, and nothing of what was seen is wrong."""
    site.settle()
    assert Judge(site).faults(record) == []
    # What was seen is worth judging: enough answers, of many versions.
    assert len(record.answers) > 20
    assert len({answer.version for answer in record.answers}) > 5


def test_edits_at_every_process_at_once(site: Site, facts: dict[str, int]) -> None:
    with watched(site, facts=facts, seed=1) as record:
        sleep(SECONDS)
    judged(site, record)
    assert {answer.is_allowed for answer in record.answers if answer.status == 200} == {True, False}


def test_a_worker_is_killed_in_the_middle_of_a_refresh(site: Site, facts: dict[str, int]) -> None:
    with watched(site, facts=facts, seed=2) as record:
        killed = next(filter(None, (_killed_while_reading(site) for _ in range(LOOKS))), None)
        assert killed
        site.start_worker(killed)
        sleep(AROUND)
    judged(site, record)


def _killed_while_reading(site: Site) -> str | None:
    """Hold the policies fast for a moment, in which a worker that is told of the last write waits to read them.

    Returns the name of the worker, which was killed, or None where none came.
    """
    with psycopg.connect(site.database.address, row_factory=scalar_row) as link:
        link.execute("LOCK TABLE policies_policy IN ACCESS EXCLUSIVE MODE")
        for _ in range(LOOKS):
            name: str | None = link.execute(_READING, [list(site.workers)]).fetchone()
            if name is not None:
                site.workers[name].kill()
                site.workers[name].wait()
                return name
            sleep(0.02)
    return None


@pytest.mark.drawn(2, "Redis")
def test_redis_is_away(site: Site, facts: dict[str, int]) -> None:
    with watched(site, facts=facts, seed=3) as record:
        sleep(AROUND)
        site.broker.end(signal.SIGKILL)
        sleep(10.0)
        site.broker.start()
        sleep(AROUND)
    judged(site, record)


#: Longer than a request waits for a connection, which otherwise might come through with 200.
AWAY_SECONDS = 5.0


@pytest.mark.drawn(2)
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGQUIT], ids=["in order", "without a farewell"])
def test_postgresql_is_restarted(site: Site, facts: dict[str, int], sign: signal.Signals) -> None:
    with watched(site, facts=facts, seed=4) as record:
        sleep(AROUND)
        ended = monotonic()
        site.database.end(sign)
        sleep(AWAY_SECONDS)
        started = monotonic()
        site.database.start()
        _connected(site)
        record.away.append(Away(ended, started, monotonic()))
        sleep(AROUND)
    judged(site, record)
    assert any(answer.status == 503 for answer in record.answers)


def _connected(site: Site) -> None:
    """Return once the database takes connections."""
    for _ in range(LOOKS):
        try:
            psycopg.connect(site.database.address).close()
        except psycopg.OperationalError:
            sleep(0.02)
        else:
            return
    raise AssertionError("The database does not come back.")
