"""Questions over HTTP: granian on one core with PostgreSQL, beside views that do nothing, in turns."""

import os

from bench.http.batch import measure_batch
from bench.http.change import measure_change
from bench.http.installation import CLIENT, has_postgres, open_site
from bench.http.load import measure_load
from bench.http.peers import measure_peers
from bench.http.single import measure_single
from bench.http.start import measure_start
from bench.http.workers import measure_workers
from bench.tables import Table
from bench.worlds import Company

POLICIES = (10, 1_000, 10_000)
USERS, ENTITIES = 10_000, 100_000
#: Rounds in which all take their turn.
ROUNDS = 9


def run(*, is_quick: bool) -> list[Table]:
    """Measure; without PostgreSQL there is nothing to measure."""
    if not has_postgres():
        return [Table("Questions over HTTP", ("",), notes=["There is no PostgreSQL on this machine."])]
    size = (500, 2_000) if is_quick else (USERS, ENTITIES)
    rounds = 3 if is_quick else ROUNDS
    os.sched_setaffinity(0, {CLIENT})
    with open_site() as found:
        tables = []
        company = Company(0)
        for policies in POLICIES[1:2] if is_quick else POLICIES:
            found.stock(policies, size)
            company = Company(policies, users=size[0], entities=size[1])
            with found.served() as client:
                tables.append(measure_single(client, company, rounds, "as it is"))
                tables.extend(measure_load(client, company, rounds))
            with found.served() as client:
                tables.append(measure_batch(client, company, rounds))
            if policies == POLICIES[1]:
                with found.served(variables={"BENCH_WITHOUT_LOG": "1"}) as client:
                    tables.append(measure_single(client, company, rounds, "without a decision log"))
            tables.append(measure_peers(found, company, rounds))
        tables.extend(measure_workers(found, company, rounds))
        tables.append(measure_start(found, company, rounds))
        tables.append(measure_change(found, rounds))
        return tables
