"""One question at a time, hot and cold, in turns with views that do nothing."""

from typing import TYPE_CHECKING

from bench.http.figures import body_of, evaluation_of, rate, ratio, slice_turn, work_us
from bench.tables import Cell, Table
from bench.talking import Client, Spent
from bench.worlds import Company

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Different questions, and requests of each view in a round.
QUESTIONS, TURN = 2_000, 400
#: A header for which a call is answered by the view, not in front of Django.
NOT_PLAIN = "X-Plain: no"


def measure_single(client: Client, company: Company, rounds: int, what: str) -> Table:
    """Ask one question at a time, hot and cold, in turns with the empty views."""
    count = QUESTIONS if company.users >= 2 * QUESTIONS else company.users // 2
    asked = [body_of(one) for one in company.asked(count * 2)]
    hot = [client.made("/api/v1/authorize", body) for body in asked[:count]]
    by_view = [client.made("/api/v1/authorize", body, headers=[NOT_PLAIN]) for body in asked[:count]]
    evaluated = [client.made("/access/v1/evaluation", evaluation_of(body)) for body in asked[:count]]
    turn = min(TURN, count)
    # Each cold question is new to the process; where they run out, so do the rounds with them.
    cold = [client.made("/api/v1/authorize", body) for body in asked[count:]]
    cold_turn = max(1, len(cold) // rounds)
    body = asked[0]
    targets: dict[str, Callable[[int], Sequence[bytes]]] = {
        "empty DRF view": lambda _: [client.made("/api/empty/drf", body)] * turn,
        "empty Django view": lambda _: [client.made("/api/empty/django", body)] * turn,
        "empty DRF view, no middleware": lambda _: [client.made("/bare/api/empty/drf", body)] * turn,
        "empty Django view, no middleware": lambda _: [client.made("/bare/api/empty/django", body)] * turn,
        "authorize, hot": lambda number: slice_turn(hot, number, turn),
        "AuthZEN evaluation, hot": lambda number: slice_turn(evaluated, number, turn),
        "authorize, hot, by the view": lambda number: slice_turn(by_view, number, turn),
        "authorize, hot, no middleware": lambda number: [
            one.replace(b"POST /api", b"POST /bare/api") for one in slice_turn(hot, number, turn)
        ],
        "authorize, cold": lambda number: slice_turn(cold, number, cold_turn),
    }
    client.time(hot)
    for name, requests in targets.items():
        if name != "authorize, cold":
            client.time(requests(0))
    spent: dict[str, list[Spent]] = {name: [] for name in targets}
    for number in range(rounds):
        for name, requests in targets.items():
            spent[name].append(client.time(requests(number)))
    drf, django = spent["empty DRF view"], spent["empty Django view, no middleware"]
    columns = ("what", "a second", "us at work", "of an empty DRF view", "of Django without middleware", "by work")
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            rate(found),
            work_us(found),
            ratio(found, drf, "clock"),
            ratio(found, django, "clock"),
            ratio(found, django, "work"),
        )
        for name, found in spent.items()
    ]
    notes = [f"{rounds} rounds of {turn} requests (cold: {cold_turn}), medians; {client.memory():,.0f} MiB."]
    return Table(f"One question, {company.policies:,} policies, {what}", columns, list(rows), notes)
