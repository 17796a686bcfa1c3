"""One question at a time, hot and cold, in turns with views that do nothing."""

from collections.abc import Callable, Sequence

from bench.http.figures import rate, ratio, slice_turn, work_us
from bench.questions import body_of, evaluation_of, list_questions
from bench.tables import Cell, Table
from bench.talking import Client, Spent
from bench.worlds import Company

#: Different questions, and requests of each view in a round.
QUESTIONS, TURN = 2_000, 400
#: A header for which a call is answered by the view, not in front of Django.
NOT_PLAIN = "X-Plain: no"

#: Number of the round → its requests.
_Turn = Callable[[int], Sequence[bytes]]


def measure_single(client: Client, company: Company, rounds: int, what: str) -> Table:
    """Ask one question at a time, hot and cold, in turns with the empty views."""
    count = QUESTIONS if company.users >= 2 * QUESTIONS else company.users // 2
    questions = list_questions(company, count * 2)
    asked = [body_of(one) for one in questions]
    hot = [client.made("/api/v1/authorize", body) for body in asked[:count]]
    by_view = [client.made("/api/v1/authorize", body, headers=[NOT_PLAIN]) for body in asked[:count]]
    evaluated = [client.made("/access/v1/evaluation", evaluation_of(one)) for one in questions[:count]]
    turn = min(TURN, count)
    # Each cold question is new to the process; where they run out, so do the rounds with them.
    cold = [client.made("/api/v1/authorize", body) for body in asked[count:]]
    cold_turn = max(1, len(cold) // rounds)
    body = asked[0]
    targets: dict[str, _Turn] = {
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
    yes = sum(client.ask(one)["decision"] == "ALLOW" for one in hot)
    notes = [
        f"{rounds} rounds of {turn} requests (cold: {cold_turn}), medians; {yes / count:.0%} of the hot questions are"
        f" answered with yes; {client.memory():,.0f} MiB."
    ]
    return Table(f"One question, {company.policies:,} policies, {what}", _COLUMNS, [*_rows(spent)], notes)


_COLUMNS = (
    "what",
    "a second",
    "us at work",
    "of an empty DRF view",
    "of Django without middleware",
    "by work",
    "of authorize, hot",
)


def _rows(spent: dict[str, list[Spent]]) -> list[tuple[Cell, ...]]:
    drf, django = spent["empty DRF view"], spent["empty Django view, no middleware"]
    return [
        (
            name,
            rate(found),
            work_us(found),
            ratio(found, drf),
            ratio(found, django),
            ratio(found, django, "work"),
            ratio(found, spent["authorize, hot"]),
        )
        for name, found in spent.items()
    ]
