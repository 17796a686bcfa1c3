"""Keeps a site busy while something happens to it, and notes every answer and every write with its times.

Times are seconds of the monotonic clock of this process, so what it notes of all web processes can be compared.
"""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from functools import partial
from random import Random
from time import monotonic
from typing import Any
from urllib.parse import quote

from tests.faults import worlds
from tests.faults.sites import Caller, Reply, Site

#: Seconds between two writes of an editor: enough for each to be answered from, and some still share a second.
_POLICY_EVERY, _FACT_EVERY = 0.1, 0.6

#: One question in so many names the newest version that was acknowledged.
_DEMANDING = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What one process said to a question; `status` is 0 where no answer came. `text` is what a refusal says."""

    process: str
    question: tuple[str, str, str]
    at_least: int
    started: float
    ended: float
    status: int
    is_allowed: bool = False
    version: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class PolicyWrite:
    """A write of a policy, and the version it made when it was acknowledged (status 200)."""

    urn: str
    document: Any
    sent: float
    acked: float
    status: int
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class FactWrite:
    """A write of a fact; without status 200 nobody knows whether it was stored."""

    name: str
    value: int
    sent: float
    acked: float
    status: int
    text: str


@dataclass(frozen=True, slots=True)
class Away:
    """When the database was ended, when it was started again, and when it took connections again."""

    ended: float
    started: float
    back: float


@dataclass
class Record:
    """Everything that was seen."""

    facts: dict[str, int]
    answers: list[Answer] = field(default_factory=list)
    policies: list[PolicyWrite] = field(default_factory=list)
    fact_writes: list[FactWrite] = field(default_factory=list)
    away: list["Away"] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """The newest version that was acknowledged."""
        return max((write.version for write in list(self.policies)), default=0)


#: One thing that somebody does to the site, again and again until it is over.
Job = Callable[[Caller, Record, threading.Event, Random], None]


@contextmanager
def watched(site: Site, *, facts: dict[str, int], seed: int) -> Iterator[Record]:
    """Ask every web process from two threads, and write from others, until the block ends.

    `facts` are those that it begins with, and afterwards those that were written last.
    """
    with site.calling() as caller:
        replies = [say(caller, name, facts) for name in facts]
    assert {reply.status for reply in replies} == {200}
    record, over, broken = Record(dict(facts)), threading.Event(), list[BaseException]()
    random = Random(seed)

    def kept(job: Job, number: int, own: Random) -> None:
        try:
            with site.calling(number) as caller:
                job(caller, record, over, own)
        except BaseException as error:  # noqa: BLE001 - the test says it, in the thread that is listened to
            broken.append(error)

    processes = range(len(site.webs))
    jobs: list[tuple[Job, int]] = [(job, number) for job in (_ask, _ask, _write_policies) for number in processes]
    jobs.append((partial(_write_facts, facts), 0))
    threads = [threading.Thread(target=kept, args=(*job, Random(random.random()))) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield record
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert not broken, broken


def _ask(caller: Caller, record: Record, over: threading.Event, random: Random) -> None:
    while not over.is_set():
        actor, privilege, resource = question = random.choice(worlds.QUESTIONS)
        at_least = 0 if random.randrange(_DEMANDING) else record.newest
        body: dict[str, Any] = {"actor": actor, "privilege": privilege, "resource": {"urn": resource}}
        if at_least:
            body["at_least_version"] = at_least
        started = monotonic()
        reply = _replied(caller, "POST", "/api/v1/authorize", body)
        seen = (caller.address, question, at_least, started, monotonic(), reply.status)
        if reply.status == 200:
            said = reply.body
            record.answers.append(Answer(*seen, said["decision"] == "ALLOW", said["policy_version"]))
        else:
            record.answers.append(Answer(*seen, text=reply.text))
            over.wait(_POLICY_EVERY)


def _write_policies(caller: Caller, record: Record, over: threading.Event, random: Random) -> None:
    while not over.is_set():
        urn, document = random.choice(worlds.POLICIES), worlds.drawn(random)
        sent = monotonic()
        path = f"/api/v1/policies/{quote(urn, safe='')}/"
        reply = _replied(caller, "PUT", path, {"family": "datahub", "document": document})
        version = int(reply.headers["Policy-Version"]) if reply.status == 200 else 0
        record.policies.append(PolicyWrite(urn, document, sent, monotonic(), reply.status, version, reply.text))
        over.wait(_POLICY_EVERY)


def _write_facts(facts: dict[str, int], caller: Caller, record: Record, over: threading.Event, random: Random) -> None:
    while not over.is_set():
        name = random.choice(list(worlds.FACTS))
        facts[name] = 1 - facts[name]
        sent = monotonic()
        reply = say(caller, name, facts)
        record.fact_writes.append(FactWrite(name, facts[name], sent, monotonic(), reply.status, reply.text))
        over.wait(_FACT_EVERY)


def say(caller: Caller, name: str, facts: dict[str, int]) -> Reply:
    """Write a fact, as ingestion does."""
    urn, aspect = worlds.FACTS[name]
    proposal = {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"contentType": "application/json", "value": json.dumps(worlds.said(name, facts))},
    }
    return _replied(caller, "POST", "/aspects?action=ingestProposal", {"proposal": proposal})


def _replied(caller: Caller, verb: str, path: str, body: Any) -> Reply:
    try:
        return caller.call(verb, path, body)
    except (OSError, http.client.HTTPException) as error:
        return Reply(0, Message(), repr(error))
