"""Several web processes: how the answers grow with them on two cores, and the memory that one more takes."""

from collections.abc import Sequence

from bench.http.figures import busy, rate, ratio, slice_turn, work_us
from bench.http.installation import ALONE, CLIENT, SERVER, Site
from bench.http.single import QUESTIONS
from bench.questions import body_of, list_questions
from bench.tables import Cell, Table
from bench.talking import Client, Spent
from bench.worlds import Company

#: Connections, enough that each process has some of them, and requests of each line in a round.
CONNECTIONS, TURN = 32, 4_000
#: Numbers of processes whose answers are counted, and whose memory is.
ASKED, WEIGHED = (1, 2), (1, 2, 3)
#: Of the work of all processes, what the least one has to do for all of them to have met the questions.
_LEAST_SHARE = 0.1
_BOTH = (SERVER, CLIENT)


def measure_workers(site: Site, company: Company, rounds: int) -> list[Table]:
    """Ask one and two processes in turns; then look what one, two and three have in memory."""
    count = min(QUESTIONS, company.users // 2)
    asked = [body_of(one) for one in list_questions(company, 2 * count)[:count]]
    with site.served(cores=_BOTH) as one, site.served(workers=2, cores=_BOTH) as two:
        throughput = _throughput(dict(zip(ASKED, (one, two), strict=True)), asked, company, rounds)
    rows: list[tuple[Cell, ...]] = []
    before = 0.0
    for number in WEIGHED[: max(2, rounds // 3)]:
        with site.served(workers=number, cores=_BOTH, application=ALONE) as client:
            _warm(client, [client.made("/api/v1/authorize", body) for body in asked], number)
            starter, *workers = client.memories()
            together = starter.shared_out + sum(worker.shared_out for worker in workers)
            resident, own = (max(getattr(worker, what) for worker in workers) for what in ("resident", "own"))
            further: Cell = together - before if before else "-"
            rows.append((f"{number}", resident, own, starter.shared_out, together, further))
            before = together
    columns = ("processes", "largest, MiB", "of it its own", "the one that starts them", "together", "a further one")
    notes = ["Memory that several have is divided among them (PSS) in the last three columns."]
    memory = Table(f"Memory of web processes, {company.policies:,} policies", columns, list(rows), notes)
    return [throughput, memory]


def _throughput(clients: dict[int, Client], asked: Sequence[dict[str, object]], company: Company, rounds: int) -> Table:
    made = {
        (name, number): [client.made(path, body) for body in asked]
        for number, client in clients.items()
        for name, path in (("authorize, hot", "/api/v1/authorize"), ("plain WSGI", "/plain"))
    }
    for (_, number), requests in made.items():
        _warm(clients[number], requests, number)
    spent: dict[tuple[str, int], list[Spent]] = {key: [] for key in made}
    for turn in range(rounds):
        for (name, number), requests in made.items():
            found = clients[number].saturate(slice_turn(requests, turn, TURN), CONNECTIONS)
            spent[name, number].append(found)
    rows: list[tuple[Cell, ...]] = [
        (f"{name}, {number}", rate(found), work_us(found), ratio(found, spent[name, 1]), busy(found))
        for (name, number), found in sorted(spent.items())
    ]
    columns = ("what, processes", "a second", "us at work", "of one process", "cores at work")
    notes = [
        f"{rounds} rounds of {TURN:,} requests over {CONNECTIONS} connections; client and database work on the same two"
        " cores, so two processes cannot be twice as fast."
    ]
    return Table(f"Web processes on two cores, {company.policies:,} policies", columns, list(rows), notes)


def _warm(client: Client, requests: Sequence[bytes], number: int) -> None:
    """Ask until each of so many processes has met the questions; raise RuntimeError where one is never asked."""
    for _ in range(20):
        before = client.shares()
        client.saturate(requests, CONNECTIONS)
        after = client.shares()
        worked = sorted(after[process] - before[process] for process in after)[-number:]
        if worked[0] >= _LEAST_SHARE * sum(worked) / number:
            return
    raise RuntimeError("One of the web processes got no connection.")
