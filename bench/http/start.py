"""A process that starts: how long until it answers, and what it has in memory."""

import statistics
import time

from bench.http.batch import BATCH
from bench.http.installation import ALONE, Site
from bench.questions import body_of, list_questions
from bench.tables import Table
from bench.worlds import Company


def measure_start(site: Site, company: Company, rounds: int) -> Table:
    """Start a process and ask it one question; what it has in memory then, and after one about every person."""
    questions = [body_of(one) for one in list_questions(company, company.users)]
    met = len({one["actor"] for one in questions}) + len({one["resource"]["urn"] for one in questions})
    seconds, before, after = [], [], []
    for _ in range(max(3, rounds // 3)):
        began = time.perf_counter()
        with site.served(application=ALONE) as client:
            client.ask(client.made("/api/v1/authorize", questions[0]))
            seconds.append(time.perf_counter() - began)
            before.append(client.memory())
            for start in range(0, len(questions), BATCH):
                batch = {"questions": questions[start : start + BATCH]}
                client.ask(client.made("/api/v1/authorize/batch", batch))
            after.append(client.memory())
    rows = [tuple(statistics.median(found) for found in (seconds, before, after))]
    columns = ("s from the start to the first answer", "MiB then", f"MiB with {met:,} people and entities")
    return Table(f"A process that starts with {company.policies:,} policies", columns, list(rows))
