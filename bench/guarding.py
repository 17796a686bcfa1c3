"""`python -m bench.guarding WORLD`: fill an installation, write policies beside guardrails, print times as JSON.

Runs in a process of its own, whose environment names the database (bench.guardrails).
"""

import gc
import json
import statistics
import sys
import time
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402  # the apps are there from here on
from django.db import connection  # noqa: E402

from bench import backends  # noqa: E402
from bench.filling import fill  # noqa: E402
from bench.worlds import Company  # noqa: E402
from policies.authoring.services import policies, policy_drafts  # noqa: E402
from policies.guardrails.services import guardrails  # noqa: E402
from policies.identity.services import groups  # noqa: E402
from policies.models import Guardrail, User  # noqa: E402
from policies.pdp import actor_resolution, authorizer, snapshot_store  # noqa: E402

#: Writes of each kind in each state; the first is not counted.
NUMBER = 21
GUARDRAILS = 10

_ROOT = "urn:li:corpuser:datahub"


def main() -> None:
    """Fill, write in turns with and without guardrails, print."""
    policy_count, users, entities = (int(number) for number in sys.argv[1].split(","))
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    fill(Company(policy_count, users=users, entities=entities))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    snapshot_store.get_current()
    for number in range(GUARDRAILS):
        guardrails.create(name=f"Guardrail {number}", rule=_build_rule(number), by=authorizer.SYSTEM, channel="bench")
    gc.freeze()
    root = actor_resolution.load_actor(urn=_ROOT)
    group = groups.create(name="Measured", identifier="measured", by=root, channel="bench").urn
    members = list(User.objects.filter(kind=User.Kind.PERSON).values_list("urn", flat=True)[: 2 * NUMBER])
    kinds = {
        "a policy for a group": lambda _: _put(root, {"groups": [group]}),
        "a policy for all users": lambda _: _put(root, {"allUsers": True}),
        "a member of a group": lambda number: groups.add_members(
            urn=group, members=[members[number]], by=root, channel="bench"
        ),
    }
    print(json.dumps([_measure(name, write) for name, write in kinds.items()]))  # noqa: T201


def _build_rule(number: int) -> dict[str, Any]:
    """Return a rule that every policy can break, and the measured writes do not.

    It is not about what the measured group owns: whoever joins that gains what owners may.
    """
    criteria = [
        {"field": "TAG", "values": [f"urn:li:tag:secret{number}"]},
        {"field": "OWNER", "condition": "NOT_EQUALS", "values": ["urn:li:corpGroup:measured"]},
    ]
    scope = {"resources": {"filter": {"criteria": criteria}}}
    if number % 2:
        return {"no_policy": {"actors": {"allUsers": True}, "privileges": ["DELETE_ENTITY"], **scope}}
    people = {"everybody_except": {"users": [_ROOT]}}
    return {"never": {"actors": people, "privileges": ["EDIT_ENTITY_TAGS"], **scope}}


def _put(by: Any, actors: dict[str, Any]) -> None:
    criterion = {"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:public"]}
    tags = [f"urn:li:tag:secret{number}" for number in range(GUARDRAILS)]
    excluded = {"field": "TAG", "condition": "NOT_EQUALS", "values": tags}
    document = {
        "displayName": "Measured",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": actors,
        "resources": {"filter": {"criteria": [criterion, excluded]}},
    }
    draft = policy_drafts.PolicyInput("datahub", document)
    policies.put_many(drafts={"urn:li:dataHubPolicy:measured": draft}, by=by, channel="bench")


def _measure(name: str, write: Any) -> dict[str, Any]:
    times: dict[str, list[float]] = {"off": [], "warn": []}
    work: dict[str, list[float]] = {"off": [], "warn": []}
    numbers = backends.list_backends()
    for number in range(2 * NUMBER):
        mode = ("off", "warn")[number % 2]
        Guardrail.objects.filter(name__startswith="Guardrail ").update(mode=mode)
        snapshot_store.get_current()
        began_work, began = backends.worked_ms(numbers), time.perf_counter()
        write(number)
        if number > 1:
            times[mode].append((time.perf_counter() - began) * 1000)
            work[mode].append(backends.worked_ms(numbers) - began_work)
    return {
        "write": name,
        **{f"{mode} median": statistics.median(found) for mode, found in times.items()},
        "added": statistics.median(times["warn"]) - statistics.median(times["off"]),
        "added p95": statistics.quantiles(times["warn"], n=20)[-1] - statistics.median(times["off"]),
        "off work": statistics.median(work["off"]),
        "added work": statistics.median(work["warn"]) - statistics.median(work["off"]),
        "most work": max(work["warn"]) - statistics.median(work["off"]),
        "times": statistics.median(work["warn"]) / statistics.median(work["off"]),
    }


if __name__ == "__main__":
    main()
