"""Questions over HTTP: granian on one core with PostgreSQL, beside views that do nothing, in turns."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bench.tables import Cell, Table
from bench.talking import Client, Spent, pin
from bench.worlds import Asked, Company

PROJECT = Path(__file__).resolve().parent.parent
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402  # found through the line above

from authzsite import serving  # noqa: E402  # reads the settings named above
from tests.clients.installations import ROOT_USER, manage  # noqa: E402  # imports servers as well

#: The core of the server, and that of the client and the database.
SERVER, CLIENT = 0, 1

POLICIES = (10, 1_000, 10_000)
USERS, ENTITIES = 10_000, 100_000
#: Different questions; rounds in which all take their turn, and requests of each in a round.
QUESTIONS, ROUNDS, TURN = 2_000, 9, 400
BATCH = 1_000
#: A header for which a call is answered by the view, not in front of Django.
NOT_PLAIN = "X-Plain: no"
#: Who is given something and loses it again.
SOMEBODY, GROUP = "urn:li:corpuser:u0", "urn:li:corpGroup:switched"


@dataclass(frozen=True)
class Site:
    """A filled installation: its environment, and a token of the root user."""

    environment: dict[str, str]
    token: str

    def stock(self, policies: int, size: tuple[int, int]) -> None:
        """Fill it, or exchange its policies."""
        command = [sys.executable, "-m", "bench.stocking", str(policies), *(str(number) for number in size)]
        # Nothing is measured meanwhile, so it may have both cores.
        os.sched_setaffinity(0, {SERVER, CLIENT})
        subprocess.run(command, cwd=PROJECT, env=self.environment, check=True, stdout=sys.stderr)
        os.sched_setaffinity(0, {CLIENT})

    @contextmanager
    def served(self, **variables: str) -> Iterator[Client]:
        """Serve it as `make run` does, on a core of its own."""
        port = servers.free_port()
        *options, _ = serving.list_arguments("127.0.0.1", port, ("--workers", "1", "--log-level", "warning"))
        command = [sys.executable, "-m", "granian", *options, "bench.site.wsgi:application"]
        environment = self.environment | variables
        with (
            (Path(environment["VAR_DIR"]) / "web.log").open("ab") as log,
            subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log) as server,
        ):
            try:
                servers.wait_for(port, server, Path(log.name))
                pin(server.pid, SERVER)
                client = Client(port, self.token, server.pid)
                yield client
                client.close()
            finally:
                server.terminate()
                server.wait(30)


def run(*, is_quick: bool) -> list[Table]:
    """Measure; without PostgreSQL there is nothing to measure."""
    if servers.postgres_folder() is None:
        return [Table("Questions over HTTP", ("",), notes=["There is no PostgreSQL on this machine."])]
    size = (500, 2_000) if is_quick else (USERS, ENTITIES)
    rounds = 3 if is_quick else ROUNDS
    os.sched_setaffinity(0, {CLIENT})
    with site() as found:
        tables = []
        company = Company(0)
        for policies in POLICIES[:2] if is_quick else POLICIES:
            found.stock(policies, size)
            company = Company(policies, users=size[0], entities=size[1])
            with found.served() as client:
                tables.append(_authorize(client, company, rounds, "as it is"))
                tables.append(_batch(client, company, rounds))
            if policies == POLICIES[1]:
                with found.served(BENCH_WITHOUT_LOG="1") as client:
                    tables.append(_authorize(client, company, rounds, "without a decision log"))
        tables.append(_start(found, company, rounds))
        tables.append(_change(found, rounds))
        return tables


@contextmanager
def site() -> Iterator[Site]:
    """An empty installation on a PostgreSQL of its own."""
    with (
        servers.postgres(is_for_tests=False) as database,
        tempfile.TemporaryDirectory(prefix="authzsite-bench-") as folder,
    ):
        environment = {name: value for name, value in os.environ.items() if name != "REDIS_URL"} | {
            "DATABASE_URL": database,
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "bench.site.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "INFO",
        }
        manage(environment, "migrate", "--verbosity", "0")
        manage(environment, "createcachetable")
        manage(environment, "bootstrap", "--restricted")
        token = manage(environment, "create_token", ROOT_USER, "--name", "bench").strip()
        yield Site(environment, token)


def _authorize(client: Client, company: Company, rounds: int, what: str) -> Table:
    """Ask one question at a time, hot and cold, in turns with the empty views."""
    count = QUESTIONS if company.users >= 2 * QUESTIONS else company.users // 2
    asked = [_body(one) for one in company.asked(count * 2)]
    hot = [client.made("/api/v1/authorize", body) for body in asked[:count]]
    by_view = [client.made("/api/v1/authorize", body, headers=[NOT_PLAIN]) for body in asked[:count]]
    evaluated = [client.made("/access/v1/evaluation", _evaluation(body)) for body in asked[:count]]
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
        "authorize, hot": lambda number: _slice(hot, number, turn),
        "AuthZEN evaluation, hot": lambda number: _slice(evaluated, number, turn),
        "authorize, hot, by the view": lambda number: _slice(by_view, number, turn),
        "authorize, hot, no middleware": lambda number: [
            one.replace(b"POST /api", b"POST /bare/api") for one in _slice(hot, number, turn)
        ],
        "authorize, cold": lambda number: _slice(cold, number, cold_turn),
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
            _rate(found),
            _work(found),
            _ratio(found, drf, "clock"),
            _ratio(found, django, "clock"),
            _ratio(found, django, "work"),
        )
        for name, found in spent.items()
    ]
    notes = [f"{rounds} rounds of {turn} requests (cold: {cold_turn}), medians; {client.memory():,.0f} MiB."]
    return Table(f"One question, {company.policies:,} policies, {what}", columns, list(rows), notes)


def _batch(client: Client, company: Company, rounds: int) -> Table:
    """Ask 1,000 questions in a call, hot, and cold with questions that the process never met."""
    calls = 5 if company.users >= 6 * BATCH else 1
    size = min(BATCH, company.users // 2)
    everything = [_body(one) for one in company.asked(size * (calls + 1))]
    made = [
        client.made("/api/v1/authorize/batch", {"questions": everything[start : start + size]})
        for start in range(0, len(everything), size)
    ]
    # What was asked one by one before is not cold: another process begins with nothing, this one forgets nothing.
    client.time(made[:1])
    hot = [client.time(made[:1]) for _ in range(rounds)]
    cold = [client.time([one]) for one in made[1:]]
    rows = [
        (name, statistics.median(one.clock for one in spent) * 1e6 / size, _work(spent) / size)
        for name, spent in (("hot", hot), ("cold", cold))
    ]
    columns = (f"{size:,} questions a call", "us a question", "us at work")
    return Table(f"authorize/batch, {company.policies:,} policies", columns, list(rows))


def _start(site: Site, company: Company, rounds: int) -> Table:
    """Start a process and ask it one question; what it has in memory then, and after a thousand more."""
    first, *rest = [_body(one) for one in company.asked(min(BATCH, company.users))]
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


def _change(site: Site, rounds: int) -> Table:
    """Write through one process, and ask another one until it answers from what was written."""
    with site.served() as writer, site.served() as reader:
        writer.ask(writer.made("/api/v1/groups/", {"id": "switched", "name": "Switched"}))
        by_user = writer.ask(writer.made("/api/v1/policies/", _policy("MANAGE_TAGS", {"users": [SOMEBODY]})))
        writer.ask(writer.made("/api/v1/policies/", _policy("MANAGE_DOMAINS", {"groups": [GROUP]})))
        place, members = (
            f"/api/v1/policies/{quote(by_user['urn'], safe='')}/",
            f"/api/v1/groups/{quote(GROUP, safe='')}/",
        )
        states = {
            "DENY": writer.made(place, {"state": "INACTIVE"}, "PATCH"),
            "ALLOW": writer.made(place, {"state": "ACTIVE"}, "PATCH"),
        }
        memberships = {
            "ALLOW": writer.made(f"{members}members/", {"members": [SOMEBODY]}),
            "DENY": writer.made(f"{members}members/", {"members": [SOMEBODY]}, "DELETE"),
        }
        waits = {
            "a policy": _waits(writer, reader, states, "MANAGE_TAGS", 2 * rounds),
            "a membership": _waits(writer, reader, memberships, "MANAGE_DOMAINS", 2 * rounds),
        }
    rows = [(name, statistics.median(found), max(found)) for name, found in waits.items()]
    columns = ("what was written", "median ms", "longest ms")
    notes = ["From the answer to the writer to the first answer of another process that knows; PostgreSQL's NOTIFY."]
    return Table("Change to visible in another process", columns, list(rows), notes)


def _policy(privilege: str, actors: dict[str, list[str]]) -> dict[str, object]:
    document = {
        "displayName": privilege,
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": [privilege],
        "actors": actors,
        "editable": True,
    }
    return {"family": "datahub", "document": document}


def _waits(writer: Client, reader: Client, writes: dict[str, bytes], privilege: str, times: int) -> list[float]:
    """Return the milliseconds until the reader gives each of the answers that the writes in turn lead to."""
    ask = reader.made("/api/v1/authorize", {"actor": SOMEBODY, "privilege": privilege})
    # A process reads all policies before its first answer, which is measured elsewhere.
    reader.ask(ask)
    waited = []
    for _ in range(times):
        for decision, write in writes.items():
            writer.ask(write)
            began = time.perf_counter()
            while reader.ask(ask)["decision"] != decision:
                pass
            waited.append((time.perf_counter() - began) * 1000)
    return waited


def _body(asked: Asked) -> dict[str, Any]:
    return {"actor": asked.person.urn, "privilege": asked.privilege, "resource": {"urn": asked.thing.urn}}


def _evaluation(question: dict[str, Any]) -> dict[str, object]:
    """Return a question as AuthZEN asks it."""
    resource = question["resource"]["urn"]
    return {
        "subject": {"type": "user", "id": question["actor"].rpartition(":")[2]},
        "action": {"name": question["privilege"]},
        "resource": {"type": resource.split(":")[2], "id": resource},
    }


def _slice(requests: Sequence[bytes], number: int, count: int) -> Sequence[bytes]:
    start = number * count % len(requests)
    return (*requests[start : start + count], *requests[: max(0, start + count - len(requests))])


def _rate(spent: Sequence[Spent]) -> float:
    return statistics.median(one.requests / one.clock for one in spent)


def _work(spent: Sequence[Spent]) -> float:
    return statistics.median(one.work * 1e6 / one.requests for one in spent)


def _ratio(spent: Sequence[Spent], base: Sequence[Spent], what: str) -> float:
    """Return how many times as fast, round by round: what else the machine did then, both had to suffer."""
    pairs = zip(spent, base, strict=True)
    found = [(getattr(b, what) / b.requests) / (getattr(one, what) / one.requests) for one, b in pairs]
    return float(statistics.median(found))
