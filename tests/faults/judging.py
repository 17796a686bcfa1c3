"""Judges what was seen: every answer by the oracle, for the version that the answer itself names."""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from tests import oracle
from tests.faults import worlds
from tests.faults.sites import Site
from tests.faults.watching import Answer, FactWrite, PolicyWrite, Record

#: Seconds by which an answer may be behind what was acknowledged before it was asked for.
OLDEST = 1.2

#: How many faults of one kind are told.
_TOLD = 5


class Judge:
    """Knows, from the site's own record of changes, which policies there were at each version."""

    def __init__(self, site: Site) -> None:
        self._events = sorted(_events(site), key=lambda event: event["policy_version"])
        self._versions = {event["policy_version"]: event for event in self._events}
        self._decided = lru_cache(maxsize=None)(self._decide)

    def faults(self, record: Record) -> list[str]:
        """Return what is wrong with what was seen; nothing when all is well."""
        found = [
            ("lost write", _lost(record.policies, self._versions)),
            ("broken history", _broken(self._events)),
            ("write out of order", _disordered(record.policies)),
            ("refused write", _refused(record.policies, record)),
            ("refused fact", _refused(record.fact_writes, record)),
            ("refused answer", _refused(record.answers, record)),
            ("answered without database", _bold(record)),
            ("below at_least_version", (one for one in _given(record) if one.version < one.at_least)),
            ("went back", _back(record)),
            ("too old", _old(record)),
            ("wrong", self._wrong(record)),
        ]
        return [f"{kind}: {one}" for kind, faults in found for one in itertools.islice(faults, _TOLD)]

    def _wrong(self, record: Record) -> Iterator[Answer]:
        for answer in _given(record):
            possible = _possible(record, answer)
            if not any(
                self._decided(answer.version, facts, answer.question) == answer.is_allowed for facts in possible
            ):
                yield answer

    def _decide(self, version: int, facts: tuple[int, ...], question: tuple[str, str, str]) -> bool:
        actor, privilege, resource = question
        raw = worlds.world(dict(zip(worlds.FACTS, facts, strict=True))).raw
        allowed, _ = oracle.authorize(raw, self._policies(version), actor, privilege, resource)
        return bool(allowed)

    @cache  # noqa: B019 - a judge lives as long as its test
    def _policies(self, version: int) -> list[tuple[str, dict[str, Any]]]:
        stored: dict[str, Any] = {}
        for event in self._events:
            if event["policy_version"] <= version:
                stored[event["object"]] = event["after"]
        return [(urn, after["document"]) for urn, after in stored.items() if after and "actors" in after["document"]]


def _events(site: Site) -> Iterator[Mapping[str, Any]]:
    with site.calling() as caller:
        for page in itertools.count(1):
            listed = caller.call("GET", f"/api/v1/audit/?of=policies&page_size=200&page={page}").body
            yield from listed["results"]
            if listed["next"] is None:
                return


def _given(record: Record) -> Iterator[Answer]:
    return (answer for answer in record.answers if answer.status == 200)


def _possible(record: Record, answer: Answer) -> Iterable[tuple[int, ...]]:
    """Yield the facts as they may have been at some moment from OLDEST seconds before the question to its answer.

    A write that was not acknowledged may have been stored or not, until the next one of the same fact.
    """
    begin, end = answer.started - OLDEST, answer.ended
    found = {name: {value} for name, value in record.facts.items()}
    for write in record.fact_writes:
        if write.sent > end:
            continue
        if write.status == 200 and write.acked <= begin:
            found[write.name] = {write.value}
        else:
            found[write.name].add(write.value)
    return itertools.product(*(sorted(found[name]) for name in worlds.FACTS))


def _lost(writes: Sequence[PolicyWrite], versions: Mapping[int, Mapping[str, Any]]) -> Iterator[PolicyWrite]:
    for write in writes:
        if write.status == 200:
            event = versions.get(write.version)
            if event is None or event["object"] != write.urn or event["after"]["document"] != write.document:
                yield write


def _broken(events: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield writes that did not begin with what the write before had left."""
    stored: dict[str, Any] = defaultdict(lambda: None)
    for event in events:
        if event["before"] != stored[event["object"]]:
            yield event, stored[event["object"]]
        stored[event["object"]] = event["after"]


def _disordered(writes: Sequence[PolicyWrite]) -> Iterator[tuple[PolicyWrite, int]]:
    """Yield writes whose version is not above those acknowledged before they were sent."""
    good = [write for write in writes if write.status == 200]
    ended = sorted((write.acked, write.version) for write in good)
    floor, index = 0, 0
    for write in sorted(good, key=lambda one: one.sent):
        while index < len(ended) and ended[index][0] <= write.sent:
            floor = max(floor, ended[index][1])
            index += 1
        if write.version <= floor:
            yield write, floor


def _refused(seen: Sequence[Answer | PolicyWrite | FactWrite], record: Record) -> Iterator[Any]:
    """Yield everything that is no proper answer, save a 503 to what was asked while the database was away."""
    for one in seen:
        ended = one.ended if isinstance(one, Answer) else one.acked
        begun = one.started if isinstance(one, Answer) else one.sent
        is_excused = any(begun <= away.back and ended >= away.ended for away in record.away)
        if one.status != 200 and not (one.status == 503 and is_excused):
            yield one


def _bold(record: Record) -> Iterator[Answer]:
    """Yield answers to what was asked and answered while the database was away for longer than anything may be kept."""
    for answer in _given(record):
        if any(answer.started > away.ended + OLDEST and answer.ended < away.started for away in record.away):
            yield answer


def _back(record: Record) -> Iterator[tuple[Answer, int]]:
    """Yield answers from an earlier version than one the same process had named before they were asked for."""
    floors: dict[str, int] = defaultdict(int)
    running: list[tuple[float, int, str]] = []
    for answer in sorted(_given(record), key=lambda one: one.started):
        while running and running[0][0] <= answer.started:
            _, version, process = heapq.heappop(running)
            floors[process] = max(floors[process], version)
        if answer.version < floors[answer.process]:
            yield answer, floors[answer.process]
        heapq.heappush(running, (answer.ended, answer.version, answer.process))


def _old(record: Record) -> Iterator[tuple[Answer, int]]:
    """Yield answers that do not know a write acknowledged more than OLDEST seconds before they were asked for."""
    writes = sorted((write.acked, write.version) for write in record.policies if write.status == 200)
    newest, index = 0, 0
    for answer in sorted(_given(record), key=lambda one: one.started):
        while index < len(writes) and writes[index][0] <= answer.started - OLDEST:
            newest = max(newest, writes[index][1])
            index += 1
        if answer.version < newest:
            yield answer, newest
