"""First pages of what people may use a privilege on: of all types, of one type, searched.

For root, and for people whom many, some, few and no statements speak to; asked by root, and by each herself, who sees
only what she may view.
"""

import statistics
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from django.test import Client

from bench import backends
from bench.worlds import HOT
from policies.engine.families import vocabulary
from policies.engine.snapshot import Snapshot
from policies.models import User
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, snapshot_store

ADDRESS = "/api/v1/what"
ROOT = f"{USER_PREFIX}datahub"
#: Among how many people they are looked for, of how many a figure is, and how often each is asked for.
PEOPLE, TAKEN, VISITS = 120, 10, 4
#: A privilege that no policy of the company lists.
UNUSED = "MANAGE_POLICIES"
#: What is asked for besides the privilege: the name of the question, and the members of the request.
QUESTIONS: tuple[tuple[str, dict[str, str]], ...] = (
    ("all types", {}),
    ("datasets", {"type": "dataset"}),
    ("searched", {"query": "schema21"}),
    ("datasets searched", {"query": "schema21", "type": "dataset"}),
)

#: Who is asked about, the question; median and p95 milliseconds on the clock, and those that were worked.
Row = tuple[str, str, float, float, float, float]


def measure() -> Iterator[Row]:
    """Give a line for each kind of people and question."""
    privileges = sorted(info.name for info in vocabulary.load_datahub().metadata_privileges() if info.name != HOT)
    root = _sign_in(ROOT)
    for title, pairs in _choose(snapshot_store.get_current(), privileges).items():
        yield from _ask_all(title, [(root, {"actor": actor, "privilege": name}) for actor, name in pairs])
        if title != "root":
            yield from _ask_all(
                f"{title}, by herself", [(_sign_in(actor), {"privilege": name}) for actor, name in pairs]
            )


def _choose(snapshot: Snapshot, privileges: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Return pairs of people and privileges by how many statements speak to them."""
    urns = [f"{USER_PREFIX}u{number}" for number in range(PEOPLE)]
    counted = [
        (len(snapshot.compute_coverage(actor_resolution.load_actor(urn=urn), name).allows), urn, name)
        for place, urn in enumerate(urns)
        for name in privileges[place % 6 :: 6]
    ]
    return {
        "root": [(ROOT, HOT)],
        "the privilege of all policies": [(urn, HOT) for urn in urns[:TAKEN]],
        "about fifty statements": _take_people(sorted(counted, key=lambda one: (abs(one[0] - 50), one))),
        "the fewest statements": _take_people(sorted(counted)),
        "no statement": [(urn, UNUSED) for urn in urns[:TAKEN]],
    }


def _take_people(counted: list[tuple[int, str, str]]) -> list[tuple[str, str]]:
    """Return the first TAKEN people, each with its first privilege."""
    privileges: dict[str, str] = {}
    for _, urn, name in counted:
        privileges.setdefault(urn, name)
    return list(islice(privileges.items(), TAKEN))


def _ask_all(title: str, asked: list[tuple[Client, dict[str, str]]]) -> Iterator[Row]:
    for question, more in QUESTIONS:
        visits = [visit for client, body in asked for visit in _post(client, body | more)]
        spent, worked = (sorted(figures) for figures in zip(*visits, strict=True))
        late = int(len(visits) * 0.95)
        yield title, question, statistics.median(spent), spent[late], statistics.median(worked), worked[late]


def _post(client: Client, body: dict[str, Any]) -> list[tuple[float, float]]:
    """Return the milliseconds on the clock and at work of each visit; the first is not counted."""
    visits = []
    for number in range(VISITS + 1):
        answering = [] if number == 0 else backends.list_backends()
        began, worked = time.perf_counter(), backends.worked_ms(answering)
        answer = client.post(ADDRESS, body, content_type="application/json")
        visits.append(((time.perf_counter() - began) * 1000, backends.worked_ms(answering) - worked))
        # One that is refused for its deadline took as long as it was let.
        if answer.status_code not in (200, 503):
            raise RuntimeError(f"{ADDRESS} answers {answer.status_code}: {answer.content[:300]!r}")
    return visits[1:]


def _sign_in(urn: str) -> Client:
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(urn=urn), "django.contrib.auth.backends.ModelBackend")
    return client
