"""`python -m bench.way_finding WORLD`: fill an installation, find the ways to refusals, print what was found as JSON.

Runs in a process of its own, whose environment names the database (bench.ways).
"""

import gc
import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, NamedTuple

import django

django.setup()

from django.core.management import call_command  # noqa: E402  # the apps are there from here on
from django.db import connection  # noqa: E402

from bench import backends  # noqa: E402
from bench.filling import fill  # noqa: E402
from bench.worlds import Company, dice_of  # noqa: E402
from catalog.models import Aspect, Entity  # noqa: E402
from policies.engine.families import vocabulary  # noqa: E402
from policies.engine.model import DecisionCode  # noqa: E402
from policies.engine.proofs.verdicts import Verdict  # noqa: E402
from policies.engine.requirements import privilege_requirement  # noqa: E402
from policies.models import Gate, open_write  # noqa: E402
from policies.pdp import actor_resolution, authorizer, snapshot_store  # noqa: E402
from policies.pdp.access_requests import AccessRequest, ResourceRef  # noqa: E402
from policies.requests.ways import finding  # noqa: E402
from policies.requests.ways.asked_items import AskedAccess  # noqa: E402
from policies.requests.ways.finding import AccessWay  # noqa: E402

#: One in so many refusals is of a privilege of the platform.
_PLATFORM_SHARE = 20
#: Refusals between two lines of the numbers so far.
_LINE_EVERY = 25
#: Most refusals that are told one by one.
_MAX_EXAMPLES = 20


def main() -> None:
    """Fill, find, print."""
    policy_count, users, entities, count = (int(number) for number in sys.argv[1].split(","))
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    company = Company(policy_count, users=users, entities=entities)
    fill(company)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    snapshot_store.get_current()
    gc.freeze()
    refusals = _list_refusals(company, count + 1)
    _write_documents(company, refusals)
    findings = Findings(backends.list_backends())
    with suppress(KeyboardInterrupt):
        for number, item in enumerate(refusals):
            findings.find(item, is_counted=number > 0)
    print(json.dumps(findings.sum_up()))  # noqa: T201


class Findings:
    """The ways to refusals one after the other, how good they are and how long they took; interrupted, those so far."""

    def __init__(self, numbers: list[int]) -> None:
        self._first, self._every = _Clock(numbers), _Clock(numbers)
        self._ways: list[tuple[AccessWay, float]] = []
        self._unknown: list[str] = []
        self._reasons: list[str] = []
        self._refusals = self._exact = 0
        self._loads: list[float] = []

    def find(self, item: AskedAccess, *, is_counted: bool) -> None:
        """Find the smallest way and all ways to a refusal."""
        find_first = partial(finding.find_smallest_way, item=item, by=authorizer.SYSTEM)
        find_all = partial(finding.find_ways, item=item, by=authorizer.SYSTEM)
        smallest, first_times = self._first.measure(find_first)
        answer, all_times = self._every.measure(find_all)
        if not is_counted:
            return
        self._first.times.append(first_times)
        self._every.times.append(all_times)
        self._loads.append(os.getloadavg()[0])
        self._add(item, answer.ways, smallest, all_times.worked)
        if self._refusals % _LINE_EVERY == 0:
            sys.stderr.write(f"{json.dumps(self.sum_up())}\n")

    def _add(self, item: AskedAccess, found: Sequence[AccessWay], smallest: AccessWay | None, worked_ms: float) -> None:
        self._refusals += 1
        self._ways += [(way, worked_ms / max(1, len(found))) for way in found]
        self._unknown += [f"{way.kind} {item.request}" for way in found if _is_unknown((way, 0))]
        if any(way.is_only_this and way.gains.size == item.count_new() and not way.losses.size for way in found):
            self._exact += 1
            return
        kinds = [f"{way.kind}: {way.gains.size} with {way.further} further" for way in found]
        self._reasons.append(f"{item.actor.urn} {item.request.requirement} {item.places}: {kinds}, {smallest}")

    def sum_up(self) -> dict[str, Any]:
        """Return the numbers so far, as bench.ways reads them."""
        return {
            "refusals": self._refusals,
            "exact": self._exact,
            "ways": len(self._ways),
            "unknown": sum(map(_is_unknown, self._ways)),
            "unknown_ways": self._unknown[:_MAX_EXAMPLES],
            "counted": sum(way.is_exact for way, _ in self._ways),
            "first": self._first.sum_up(),
            "all": self._every.sum_up(),
            "kinds": _sum_up_kinds(self._ways),
            "reasons": self._reasons[:_MAX_EXAMPLES],
            "loads": [min(self._loads), statistics.median(self._loads), max(self._loads)],
        }


class _Times(NamedTuple):
    """Milliseconds of one call, on the clock and at work."""

    spent: float
    worked: float


class _Clock:
    """Times of one kind of call."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self.times: list[_Times] = []

    def measure(self, call: Callable[[], Any]) -> tuple[Any, _Times]:
        began_work, began = backends.worked_ms(self._numbers), time.perf_counter()
        answer = call()
        spent = (time.perf_counter() - began) * 1000
        return answer, _Times(spent, backends.worked_ms(self._numbers) - began_work)

    def sum_up(self) -> dict[str, float]:
        spent, worked = [one.spent for one in self.times], [one.worked for one in self.times]
        return {
            "median": statistics.median(spent),
            "p95": statistics.quantiles(spent, n=20)[-1],
            "longest": max(spent),
            "worked_median": statistics.median(worked),
            "worked_p95": statistics.quantiles(worked, n=20)[-1],
        }


def _list_refusals(company: Company, count: int) -> list[AskedAccess]:
    """Return refusals that no deny decides: random people, privileges and entities."""
    dice, refusals = dice_of("ways"), []
    for privilege, urn, person in _draw(company, dice):
        resource = ResourceRef(urn) if urn else None
        request = AccessRequest(privilege_requirement(privilege), resource)
        item = AskedAccess.load(actor=actor_resolution.load_actor(urn=person), request=request)
        if item.decision.code is DecisionCode.IMPLICIT_DENY:
            refusals.append(item)
        if len(refusals) == count:
            break
    return refusals


def _write_documents(company: Company, refusals: list[AskedAccess]) -> None:
    """Store the documents of the entities that are asked about: a change of their owners is made to these."""
    urns = {item.request.resource.urn for item in refusals if item.request.resource}
    things = {thing.urn: thing for thing in map(company.thing, range(company.entities)) if thing.urn in urns}
    documents: list[tuple[str, str, dict[str, Any]]] = []
    for urn, thing in things.items():
        owners = [{"owner": owner, "typeUrn": kind} for owner, kind in dict.fromkeys(thing.owners)]
        documents += [
            (urn, "ownership", {"owners": owners}),
            (urn, "domains", {"domains": [thing.domain]}),
            (urn, "globalTags", {"tags": [{"tag": tag} for tag in thing.tags]}),
            (urn, "container", {"container": thing.schema}),
        ]
    entities = {entity.urn: entity for entity in Entity.objects.filter(urn__in=urns)}
    with open_write(Gate.CATALOG):
        Aspect.objects.bulk_create(
            Aspect(entity=entities[urn], name=name, document=json.dumps(document)) for urn, name, document in documents
        )


def _draw(company: Company, dice: Random) -> Iterator[tuple[str, str, str]]:
    words = vocabulary.load_datahub()
    platform = [info.name for info in words.platform_privileges()]
    while True:
        person = f"urn:li:corpuser:u{dice.randrange(company.users)}"
        if not dice.randrange(_PLATFORM_SHARE):
            yield dice.choice(platform), "", person
            continue
        thing = company.thing(dice.randrange(company.entities))
        yield dice.choice(words.list_offered_privileges([thing.type])).name, thing.urn, person


def _is_unknown(way: tuple[AccessWay, float]) -> bool:
    return way[0].gives_only_this.verdict is Verdict.UNKNOWN


def _sum_up_kinds(ways: list[tuple[AccessWay, float]]) -> dict[str, list[float]]:
    ways_by_kind: dict[str, list[tuple[AccessWay, float]]] = defaultdict(list)
    for way, spent in ways:
        ways_by_kind[way.kind.value].append((way, spent))
    return {
        kind: [
            len(some),
            sum(way.gives_only_this.verdict is Verdict.YES for way, _ in some),
            sum(map(_is_unknown, some)),
            statistics.median(way.gains.size for way, _ in some),
            statistics.median(spent for _, spent in some),
        ]
        for kind, some in ways_by_kind.items()
    }


if __name__ == "__main__":
    main()
