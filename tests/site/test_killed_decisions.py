"""A process that is killed while it decides, or takes back: after every third statement that writes, in turn.

Nothing of it is there until all of it is: no grant without its trail, no trail without its grant, and no event of
either. The next process does it once.
"""

import json
from pathlib import Path
from typing import Any

from tests.clients import installations

#: Asks for two things, and forks a process for every third statement that writes, which dies right after that one.
#: The first process only forks and counts rows: what decides starts threads, and these do not come along.
PROGRAM = """
import django, json, os, signal
django.setup()
import threading
from datetime import timedelta
from django.db import connection, connections
from django.utils import timezone
from policies.identity.services import users
from policies.models import ChangeEvent, OutboxEvent, Policy, PolicyVersion, RequestDecision, RequestItem
from policies.models import Gate, RequestTrail, SubmittedRequest, open_write
from policies.pdp import actor_resolution
from policies.pdp.authorizer import SYSTEM
from policies.pdp.due_changes import apply_due_changes
from policies.requests import chosen_ways
from policies.requests.asked import read_asked
from policies.requests.errors import RequestConflict
from policies.requests.items import load_item
from policies.requests.services import asking, deciding
from catalog.models import Facet
from tests.api.conftest import store_policy
from tests.catalog.conftest import said, tell
from tests.requests.conftest import ADA, JO, ORDERS, own

def run(work):
    connections.close_all()
    assert threading.active_count() == 1
    child = os.fork()
    if not child:
        signal.alarm(60)
        try:
            work()
        except BaseException:
            __import__("traceback").print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL), status

def digest():
    rows = (RequestTrail, RequestDecision, Policy, OutboxEvent, ChangeEvent)
    request = SubmittedRequest.objects.get()
    owners = sorted(Facet.objects.filter(entity__urn=ORDERS, field="OWNER").values_list("value", flat=True))
    counts = [row.objects.count() for row in rows]
    return [request.state, request.version, PolicyVersion.load_version(), owners, *counts]

def run_and_die(work, number):
    left = [number]
    def execute_and_die(execute, sql, *rest):
        found = execute(sql, *rest)
        left[0] -= sql.lstrip().startswith(("INSERT", "UPDATE", "DELETE"))
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    with connection.execute_wrapper(execute_and_die):
        work()
    # The caller never hears of it.
    os.kill(os.getpid(), signal.SIGKILL)

def kill_at_every_third_write(work):
    before, number = digest(), 0
    while (after := digest()) == before:
        number += 3
        assert number < 200, "Nothing is written."
        run(lambda: run_and_die(work, number))
    return {"writes": number - 3, "after": after}

def prepare():
    for name in ("jo", "ada"):
        users.create(username=name, by=SYSTEM, channel="test")
    tell(said(ORDERS, "datasetProperties", {"name": "orders"}), own(ORDERS, ADA))
    store_policy("owners", privileges=["EDIT_ENTITY_DOCS"], actors={"resourceOwners": True})
    jo, names = actor_resolution.load_actor(urn=JO), []
    items = [{"privilege": f"EDIT_ENTITY_{name}", "resource": {"urn": ORDERS}} for name in ("TAGS", "DOCS")]
    until = timezone.now() + timedelta(days=9)
    for item, kind in zip(items, ("policy", "owner")):
        ways = chosen_ways.list_ways(load_item(item), actor=JO, until=until, by=jo)
        names.append(next(way["id"] for way in ways if way["kind"] == kind))
    body = {"items": items, "reason": "r", "until": until.isoformat(), "way": names}
    asking.ask(asked_body=read_asked(body), by=jo, channel="test")

def approve():
    ada = actor_resolution.load_actor(urn=ADA)
    deciding.approve(urn=SubmittedRequest.objects.get().urn, by=ada, channel="test")

def approve_again():
    try:
        approve()
    except RequestConflict as refusal:
        assert refusal.code == "request.state"
        return
    raise AssertionError("It is approved twice.")

def let_end_come():
    end = timezone.now() - timedelta(seconds=1)
    RequestItem.objects.filter(position=1).update(ends_at=end)
    with open_write(Gate.PEOPLE) as write:
        write.announce_boundaries([end])

run(prepare)
approved = kill_at_every_third_write(approve)
run(approve_again)
run(let_end_come)
ended = kill_at_every_third_write(lambda: apply_due_changes(wait_seconds=5))
whats = list(RequestTrail.objects.values_list("what", flat=True))
types = list(OutboxEvent.objects.filter(subject=SubmittedRequest.objects.get().urn).values_list("type", flat=True))
print(json.dumps({"approved": approved, "ended": ended, "whats": whats, "types": types}))
"""


def test_a_decision_and_an_end_are_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    environment = installations.environment_of(tmp_path)
    installations.set_up(environment)
    told: dict[str, Any] = json.loads(installations.run_python(environment, "-c", PROGRAM).stdout.splitlines()[-1])
    state, version, *_ = told["approved"]["after"]
    assert (state, version) == ("done", 2)
    assert told["approved"]["after"][3] == ["urn:li:corpuser:ada", "urn:li:corpuser:jo"]
    assert told["ended"]["after"][0] == "partial"
    assert told["ended"]["after"][3] == ["urn:li:corpuser:ada"]
    assert told["whats"] == ["asked", "agreed", "approved", "done", "ended"]
    assert sorted(told["types"]) == sorted(
        ["request.asked", "request.step", "request.approved", "request.done", "request.ended"]
    )
    # At least so many statements of each were the last one of a process.
    assert told["approved"]["writes"] >= 15
    assert told["ended"]["writes"] >= 6
