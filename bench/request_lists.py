"""`python -m bench.request_lists WORLD`: fill an installation with requests, read their lists, print times as JSON.

Runs in a process of its own, whose environment names the database (bench.requests).
"""

import gc
import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import django

django.setup()

from django.core.management import call_command  # noqa: E402  # the apps are there from here on
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.utils import timezone  # noqa: E402

from authzsite.preload import FULL_COLLECTION_THRESHOLD  # noqa: E402
from bench import backends  # noqa: E402
from bench.filling import fill  # noqa: E402
from bench.worlds import Company  # noqa: E402
from policies.models import (  # noqa: E402
    Gate,
    RequestDecision,
    RequestItem,
    RequestSeat,
    RequestStep,
    RequestTrail,
    SubmittedRequest,
    User,
    open_write,
)
from policies.models.people import GROUP_PREFIX, USER_PREFIX  # noqa: E402
from policies.models.request import PRIVILEGE_SEAT, REQUEST_PREFIX, RequestState  # noqa: E402
from policies.pdp import actor_resolution, snapshot_store  # noqa: E402
from policies.requests.asked import read_asked  # noqa: E402
from policies.requests.plan import build_items_key  # noqa: E402
from policies.requests.services import asking  # noqa: E402

#: How often each list is read; the first visit is not counted.
VISITS = 41
#: People of whom each has asked for as many things as one may have open, and those who decide by name.
ASKERS, APPROVERS = 100, 200
#: Of five open requests one waits for a large group, and one for holders of MANAGE_POLICIES.
_SHARE = 5

#: Rows of a page of the API unless told.
PAGE = 50

_API = "/api/v1/requests/"
_BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Visit:
    """A list that somebody reads."""

    reader: str
    address: str


def main() -> None:
    """Fill, read, print."""
    policy_count, users, entities, count = (int(number) for number in sys.argv[1].split(","))
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("collectstatic", interactive=False, verbosity=0)
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    company = Company(policy_count, users=users, entities=entities)
    fill(company)
    snapshot_store.get_current()
    _store_requests(company, count)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM (ANALYZE)")
    # As in a web process: what is there stays, and the collector hardly ever traverses everything.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], FULL_COLLECTION_THRESHOLD)
    print(json.dumps([_measure(name, visit) for name, visit in _list_visits(company, count).items()]))  # noqa: T201


def _list_visits(company: Company, count: int) -> dict[str, Visit]:
    asker, approver, root = (f"{USER_PREFIX}{name}" for name in ("u0", f"u{ASKERS}", "datahub"))
    member = _find_member(company)
    entity = company.thing(0).urn
    return {
        "own": Visit(asker, f"{_API}?mine=true"),
        "own, as page": Visit(asker, "/requests"),
        "to decide, by name": Visit(approver, f"{_API}?to_decide=true"),
        "to decide, by name, as page": Visit(approver, "/requests/to-decide"),
        "to decide, as a member": Visit(member, f"{_API}?to_decide=true"),
        "to decide, as a member, as page": Visit(member, "/requests/to-decide"),
        "to decide, as administrator": Visit(root, f"{_API}?to_decide=true"),
        "to decide, as administrator, as page": Visit(root, "/requests/to-decide"),
        "all that a member may read": Visit(member, _API),
        "all, as administrator": Visit(root, _API),
        "all that are open": Visit(root, f"{_API}?state=open"),
        "all that are open, last page": Visit(root, f"{_API}?state=open&page={count // PAGE}"),
        "of one person": Visit(root, f"{_API}?actor={asker}"),
        "of one entity": Visit(root, f"{_API}?entity={entity}"),
        "of one rule": Visit(root, f"{_API}?rule=urn:li:approvalRule:bench"),
    }


def _find_member(company: Company) -> str:
    """Return somebody in the group g0 who decides nothing by name."""
    first = ASKERS + APPROVERS
    number = next(one for one in range(first, company.users) if f"{GROUP_PREFIX}g0" in company.person(one).groups)
    return f"{USER_PREFIX}u{number}"


def _store_requests(company: Company, count: int) -> None:
    """Store as many open requests, and as many that were denied, each a copy of one that was asked for."""
    model = _ask_once(company)
    item, step = model.items.get(), model.steps.get()
    with open_write(Gate.PEOPLE):
        for first in range(0, 2 * count, _BATCH):
            numbers = range(first, min(first + _BATCH, 2 * count))
            requests = SubmittedRequest.objects.bulk_create(_build_request(number, count) for number in numbers)
            steps = RequestStep.objects.bulk_create(
                _build_step(request, number, step) for request, number in zip(requests, numbers, strict=True)
            )
            RequestItem.objects.bulk_create(
                _build_item(request, company.thing(number % company.entities).urn, item)
                for request, number in zip(requests, numbers, strict=True)
            )
            RequestSeat.objects.bulk_create(
                RequestSeat(step=step, token=token) for step in steps for token in step.urns
            )
            RequestDecision.objects.bulk_create(
                RequestDecision(step=step, by=step.urns[0], is_agreement=False, items=[0], note="No.")
                for step in steps
                if step.state == RequestStep.State.DENIED
            )
            RequestTrail.objects.bulk_create(line for request in requests for line in _build_trail(request))


def _ask_once(company: Company) -> SubmittedRequest:
    """Ask for a thing as somebody does who lacks it: the way and the steps of the others are those of this one."""
    asker = actor_resolution.load_actor(urn=f"{USER_PREFIX}u{company.users - 1}")
    item = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": company.thing(company.entities - 1).urn}}
    body = read_asked({"items": [item], "reason": "The model of the others."})
    return asking.ask(asked_body=body, by=asker, channel="bench")


def _build_request(number: int, count: int) -> SubmittedRequest:
    asker = f"{USER_PREFIX}u{number % ASKERS}"
    is_open = number < count
    return SubmittedRequest(
        urn=f"{REQUEST_PREFIX}{number:08}",
        state=RequestState.OPEN if is_open else RequestState.DENIED,
        actor=asker,
        by=asker,
        reason="For the report of the quarter, as agreed with the owners of the data. " * 3,
        until=timezone.now() + timedelta(days=30),
        rule="urn:li:approvalRule:bench",
        items_key=build_items_key(f"{asker} {number}", ()),
        due_at=timezone.now() + timedelta(hours=1 + number % 500) if is_open else None,
    )


def _build_step(request: SubmittedRequest, number: int, model: RequestStep) -> RequestStep:
    match number % _SHARE:
        case 0:
            token = f"{GROUP_PREFIX}g0"
        case 1:
            token = f"{PRIVILEGE_SEAT}MANAGE_POLICIES"
        case _:
            token = f"{USER_PREFIX}u{ASKERS + number % APPROVERS}"
    is_open = request.state == RequestState.OPEN
    return RequestStep(
        request=request,
        position=0,
        name=model.name,
        approvers=model.approvers,
        items=[0],
        urns=[token],
        then=model.then,
        due=request.due_at,
        state=RequestStep.State.WAITING if is_open else RequestStep.State.DENIED,
    )


def _build_item(request: SubmittedRequest, entity: str, model: RequestItem) -> RequestItem:
    document = {**model.document, "resource": {"urn": entity}}
    return RequestItem(
        request=request, position=0, document=document, entity=entity, state=request.state, way=model.way
    )


def _build_trail(request: SubmittedRequest) -> Iterator[RequestTrail]:
    yield RequestTrail(request=request, by=request.by, what=RequestTrail.What.ASKED)
    yield RequestTrail(request=request, by=request.by, what=RequestTrail.What.COMMENT, note="It is for the audit.")
    if request.state == RequestState.DENIED:
        yield RequestTrail(request=request, by=f"{USER_PREFIX}datahub", what=RequestTrail.What.DENIED, note="No.")


def _measure(name: str, visit: Visit) -> tuple[str, int | None, float, float, float, float, int]:
    """Return a list's name, its rows, median, p95 and longest milliseconds, those at work at p95, and its queries.

    Pages do not say how many rows there are: their lists are those of the API.
    """
    client = Client(SERVER_NAME="localhost")
    client.force_login(User.objects.get(urn=visit.reader), "django.contrib.auth.backends.ModelBackend")
    address = visit.address
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(address)
    queries = len(captured)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answers {answer.status_code}: {answer.content[:300]!r}")
    rows = answer.json()["count"] if address.startswith(_API) else None
    spent, worked = [], []
    answering = backends.list_backends()
    for _ in range(VISITS):
        began, began_work = time.perf_counter(), backends.worked_ms(answering)
        client.get(address)
        spent.append((time.perf_counter() - began) * 1000)
        worked.append(backends.worked_ms(answering) - began_work)
    late_spent, late_worked = (statistics.quantiles(figures, n=20)[-1] for figures in (spent, worked))
    return name, rows, statistics.median(spent), late_spent, max(spent), late_worked, queries


if __name__ == "__main__":
    main()
