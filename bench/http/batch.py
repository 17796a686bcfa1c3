"""Calls of 1,000 questions."""

import statistics
import time

from bench.http.figures import work_us
from bench.questions import body_of, list_questions
from bench.tables import Table
from bench.talking import Client
from bench.worlds import Company

BATCH = 1_000

#: Seconds at a time for which a process is watched, and the seconds of work in them below which it has nothing to do.
_WATCH_SECONDS, _IDLE_SECONDS = 0.25, 0.02


def measure_batch(client: Client, company: Company, rounds: int) -> Table:
    """Ask 1,000 questions in a call, hot, and cold with questions that the process, a new one, never met."""
    calls = 5 if company.users >= 6 * BATCH else 1
    size = min(BATCH, company.users // 2)
    everything = [body_of(one) for one in list_questions(company, size * (calls + 1))]
    made = [
        client.made("/api/v1/authorize/batch", {"questions": everything[start : start + size]})
        for start in range(0, len(everything), size)
    ]
    client.time(made[:1])
    _wait_until_idle(client)
    hot = [client.time(made[:1]) for _ in range(rounds)]
    cold = [client.time([one]) for one in made[1:]]
    rows = [
        (name, statistics.median(one.clock for one in spent) * 1e6 / size, work_us(spent) / size)
        for name, spent in (("hot", hot), ("cold", cold))
    ]
    columns = (f"{size:,} questions a call", "us a question", "us at work")
    return Table(f"authorize/batch, {company.policies:,} policies", columns, list(rows))


def _wait_until_idle(client: Client) -> None:
    """Wait until a new process has imported what it imports after its first answer."""
    work = client.worked()
    while True:
        time.sleep(_WATCH_SECONDS)
        previous_work, work = work, client.worked()
        if work - previous_work < _IDLE_SECONDS:
            return
