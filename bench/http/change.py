"""How long another process takes to know of a change."""

import statistics
import time
from urllib.parse import quote

from bench.http.installation import Site
from bench.tables import Table
from bench.talking import Client

#: Who is given something and loses it again.
SOMEBODY, GROUP = "urn:li:corpuser:u0", "urn:li:corpGroup:switched"


def measure_change(site: Site, rounds: int) -> Table:
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
