"""A process that starts: how long until it answers, and what it has in memory."""

import statistics
import time

from bench.http.batch import BATCH
from bench.http.installation import Site
from bench.questions import body_of, list_questions
from bench.tables import Table
from bench.worlds import Company


def measure_start(site: Site, company: Company, rounds: int) -> Table:
    """Start a process and ask it one question; what it has in memory then, and after a thousand more."""
    first, *rest = [body_of(one) for one in list_questions(company, min(BATCH, company.users))]
    seconds, before, after = [], [], []
    for _ in range(max(3, rounds // 3)):
        began = time.perf_counter()
        with site.served() as client:
            client.ask(client.made("/api/v1/authorize", first))
            seconds.append(time.perf_counter() - began)
            before.append(client.memory())
            client.ask(client.made("/api/v1/authorize/batch", {"questions": rest}))
            after.append(client.memory())
    rows = [tuple(statistics.median(found) for found in (seconds, before, after))]
    columns = ("s from the start to the first answer", "MiB then", "MiB after the batch")
    return Table(f"A process that starts with {company.policies:,} policies", columns, list(rows))
