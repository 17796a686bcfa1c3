"""Several calls at once: the greatest rate beside plain WSGI, and how long a call takes at half of it."""

import statistics
from collections.abc import Sequence

from bench.http.figures import busy, rate, ratio, slice_turn, work_us
from bench.http.single import NOT_PLAIN, QUESTIONS
from bench.questions import body_of, evaluation_of, list_questions
from bench.tables import Cell, Table
from bench.talking import Client, Spent
from bench.worlds import Company

#: Connections, each with one call at a time.
CONNECTIONS = 8
#: Requests of each line in a round, and how many seconds calls come at a fixed rate in a round.
TURN, PACED_SECONDS = 2_000, 3.0


def measure_load(client: Client, company: Company, rounds: int) -> list[Table]:
    """Ask as fast as answers come, then at half of that rate whatever comes."""
    questions = list_questions(company, min(2 * QUESTIONS, company.users // 2 * 2))
    questions = questions[: len(questions) // 2]
    hot = [client.made("/api/v1/authorize", body_of(one)) for one in questions]
    lines: dict[str, Sequence[bytes]] = {
        "plain WSGI": [client.made("/plain", body_of(questions[0]))],
        "empty Django view, no middleware": [client.made("/bare/api/empty/django", body_of(questions[0]))],
        "authorize, hot": hot,
        "AuthZEN evaluation, hot": [client.made("/access/v1/evaluation", evaluation_of(one)) for one in questions],
        "authorize, hot, by the view": [
            client.made("/api/v1/authorize", body_of(one), headers=[NOT_PLAIN]) for one in questions
        ],
    }
    for requests in lines.values():
        client.saturate(requests, CONNECTIONS)
    spent: dict[str, list[Spent]] = {name: [] for name in lines}
    for number in range(rounds):
        for name, requests in lines.items():
            turn = [*requests] * TURN if len(requests) == 1 else slice_turn(requests, number, TURN)
            spent[name].append(client.saturate(turn, CONNECTIONS))
    half = rate(spent["authorize, hot"]) / 2
    waits: dict[str, list[list[float]]] = {name: [] for name in ("plain WSGI", "authorize, hot")}
    for _ in range(max(2, rounds // 2)):
        for name, found in waits.items():
            found.append(client.pace(_repeat(lines[name], half), CONNECTIONS, half))
    return [_greatest(spent, company, rounds), _latencies(waits, company, half)]


def _repeat(requests: Sequence[bytes], per_second: float) -> list[bytes]:
    """Return the requests of one paced round."""
    count = int(per_second * PACED_SECONDS)
    return [requests[number % len(requests)] for number in range(count)]


def _greatest(spent: dict[str, list[Spent]], company: Company, rounds: int) -> Table:
    plain = spent["plain WSGI"]
    rows: list[tuple[Cell, ...]] = [
        (name, rate(found), work_us(found), ratio(found, plain), ratio(found, plain, "work"), busy(found))
        for name, found in spent.items()
    ]
    columns = ("what", "a second", "us at work", "of plain WSGI", "by work", "cores at work")
    notes = [
        f"{rounds} rounds of {TURN:,} requests, each connection sending the next one as soon as it is answered."
        " Where the server was at work on less than a core, the client was the slower one: there `by work` says more."
    ]
    return Table(f"{CONNECTIONS} connections at once, {company.policies:,} policies", columns, list(rows), notes)


def _latencies(waits: dict[str, list[list[float]]], company: Company, half: float) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, found in waits.items():
        rounds = [statistics.quantiles(one, n=1000, method="inclusive") for one in found]
        medians = (statistics.median(one[index] for one in rounds) for index in (499, 949, 989, 998))
        rows.append((name, *medians, max(one[989] for one in rounds), max(map(max, found))))
    columns = ("what, in ms", "median", "p95", "p99", "p99.9", "p99 of the worst round", "longest")
    notes = [
        f"{half:,.0f} calls a second over {CONNECTIONS} connections in rounds of {PACED_SECONDS:.0f} s, medians of"
        " them, each from the time when it was planned. The time of plain WSGI above its median is the machine's."
    ]
    return Table(f"At half of the greatest rate, {company.policies:,} policies", columns, list(rows), notes)
