"""Other engines over the same server: a bare WSGI application with the facts of each question in hand."""

from bench.http.figures import rate, ratio, slice_turn, work_us
from bench.http.installation import Site
from bench.questions import body_of, list_questions
from bench.site.peers import PEERS, QUESTIONS_VARIABLE, is_there
from bench.tables import Cell, Table
from bench.talking import Client, Spent
from bench.worlds import Company

#: Different questions, and requests of each engine in a round.
QUESTIONS, TURN = 400, 400


def measure_peers(site: Site, company: Company, rounds: int) -> Table:
    """Ask ours and the others in turns. Raises RuntimeError where one answers something else than ours."""
    count = min(QUESTIONS, company.users)
    variable = f"{company.policies} {company.users} {company.entities} {count}"
    peers = [name for name in PEERS if is_there(name)]
    asked = [body_of(one) for one in list_questions(company, count)]
    application = "bench.site.peers:application"
    with (
        site.served() as ours,
        site.served(application=application, variables={QUESTIONS_VARIABLE: variable}) as others,
    ):
        lines = {"authorize, hot": (ours, "/api/v1/authorize"), "plain WSGI": (ours, "/plain")}
        lines |= {name: (others, f"/peers/{name}") for name in peers}
        made = {name: [client.made(path, body) for body in asked] for name, (client, path) in lines.items()}
        expected = [ours.ask(request)["decision"] for request in made["authorize, hot"]]
        for name in peers:
            if [others.ask(request)["decision"] for request in made[name]] != expected:
                raise RuntimeError(f"{name} answers something else than authorize.")
        spent = _ask_in_turns({name: (client, made[name]) for name, (client, _) in lines.items()}, rounds)
    rows: list[tuple[Cell, ...]] = [
        (name, rate(found), work_us(found), ratio(spent["authorize, hot"], found), ratio(found, spent["plain WSGI"]))
        for name, found in spent.items()
    ]
    columns = ("what", "a second", "us at work", "authorize is so many times as fast", "of plain WSGI")
    notes = [f"{rounds} rounds of {TURN} requests; all answer alike."]
    notes += [f"{name} is left out: {PEERS[name]} is not installed." for name in PEERS if name not in peers]
    return Table(f"Other engines over the same server, {company.policies:,} policies", columns, list(rows), notes)


def _ask_in_turns(lines: dict[str, tuple[Client, list[bytes]]], rounds: int) -> dict[str, list[Spent]]:
    spent: dict[str, list[Spent]] = {name: [] for name in lines}
    for number in range(rounds):
        for name, (client, requests) in lines.items():
            spent[name].append(client.time(slice_turn(requests, number, TURN)))
    return spent
