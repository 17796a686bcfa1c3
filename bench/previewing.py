"""`python -m bench.previewing WORLD`: fill an installation, preview changes, print times as JSON.

Runs in a process of its own, whose environment names the database (bench.preview).
"""

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402  # the apps are there from here on
from django.db import connection  # noqa: E402

from bench import backends  # noqa: E402
from bench.filling import fill  # noqa: E402
from bench.worlds import GROUPS, Company, dice_of  # noqa: E402
from policies.authoring.changes import DeletePolicy, PutPolicy  # noqa: E402
from policies.authoring.services import policies  # noqa: E402
from policies.authoring.services.policy_drafts import PolicyInput  # noqa: E402
from policies.changes import preview  # noqa: E402
from policies.changes.comparison import EffectQuestion  # noqa: E402
from policies.changes.kinds import Change  # noqa: E402
from policies.identity.changes.accounts import DeleteGroup, DeleteUser, Suspend  # noqa: E402
from policies.identity.changes.members import RemoveMembers  # noqa: E402
from policies.identity.services import groups  # noqa: E402
from policies.models import Membership, Policy, PolicyVersion  # noqa: E402
from policies.pdp import authorizer, snapshot_store  # noqa: E402

#: How many policies of each kind of change; the first is not counted.
NUMBER = 41


def main() -> None:
    """Fill, preview, print."""
    policy_count, users, entities = (int(number) for number in sys.argv[1].split(","))
    call_command("migrate", verbosity=0)
    call_command("createcachetable")
    call_command("bootstrap", "--restricted", verbosity=0, stdout=sys.stderr)
    fill(Company(policy_count, users=users, entities=entities))
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    snapshot_store.get_current()
    gc.freeze()
    dice = dice_of("previews")
    stored = list(Policy.objects.filter(urn__startswith="urn:li:dataHubPolicy:p", description="Measured"))
    chosen = [dice.choice(stored) for _ in range(NUMBER)]
    wide = {
        "displayName": "wide",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "editable": True,
        "privileges": ["EDIT_ENTITY_TAGS"],
        "resources": {"filter": {"criteria": []}},
    }
    kinds: dict[str, Callable[[int], Change]] = {
        "delete a policy": lambda number: DeletePolicy(chosen[number].urn),
        "add a group to a policy": lambda number: _with_group(chosen[number], number),
        "a group on everything": lambda number: _put(wide, {"groups": [f"urn:li:corpGroup:g{number}"]}),
        "all users on the datasets of a domain": lambda number: _put(
            wide
            | {
                "resources": {
                    "filter": {
                        "criteria": [
                            {"field": "TYPE", "values": ["dataset"]},
                            {"field": "DOMAIN", "values": [f"urn:li:domain:d{number}"]},
                        ]
                    }
                }
            },
            {"allUsers": True},
        ),
        "all users on everything": lambda _: _put(wide, {"allUsers": True}),
        "owners on everything": lambda _: _put(wide, {"resourceOwners": True}),
    }
    kinds |= _build_people_changes(users)
    found = [_measure(name, make, is_sampled=False) for name, make in kinds.items()]
    drafts = ("add a group to a policy", "all users on everything", "owners on everything")
    found += [_measure(name, kinds[name], is_sampled=True) for name in drafts]
    print(json.dumps(found))  # noqa: T201


def _build_people_changes(users: int) -> dict[str, Callable[[int], Change]]:
    """Return changes of people whom a good part of all policies reaches, by groups, roles and ownership."""
    dice = dice_of("people")
    people = [f"urn:li:corpuser:u{number}" for number in dice.sample(range(users), NUMBER)]
    pair = groups.create(name="pair", identifier="pair", members=people[:2], by=authorizer.SYSTEM, channel="bench").urn
    platform = {
        "displayName": "administrators",
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS"],
        "actors": {"users": people},
    }
    policies.create(draft=PolicyInput("datahub", platform), by=authorizer.SYSTEM, channel="bench")
    named = dice.sample(list(Policy.objects.filter(description="Measured").order_by("urn")), 100)
    drafts = {policy.urn: _with_member(policy, pair).draft for policy in named}
    policies.put_many(drafts=drafts, by=authorizer.SYSTEM, channel="bench")
    snapshot_store.get_current(at_least=PolicyVersion.load_version())
    members = [f"urn:li:corpGroup:g{number}" for number in range(NUMBER)]
    joined = {
        group: list(
            Membership.objects.filter(group__profile__urn=group).order_by("pk").values_list("user__urn", flat=True)[:3]
        )
        for group in members
    }
    return {
        "delete a group of two": lambda _: DeleteGroup(pair),
        "delete a group of a hundred": lambda number: DeleteGroup(members[number]),
        "remove three people from a group": lambda number: RemoveMembers(members[number], joined[members[number]]),
        "suspend who holds platform privileges": lambda number: Suspend(people[number]),
        "delete a user": lambda number: DeleteUser(people[number]),
    }


def _with_group(policy: Policy, number: int) -> PutPolicy:
    return _with_member(policy, f"urn:li:corpGroup:g{number % GROUPS}")


def _with_member(policy: Policy, group: str) -> PutPolicy:
    actors = policy.document["actors"]
    changed_actors = {**actors, "groups": [*actors.get("groups", ()), group]}
    document = {"description": "", "editable": True} | policy.document | {"actors": changed_actors}
    return PutPolicy(policy.urn, PolicyInput("datahub", document))


def _put(document: dict[str, Any], actors: dict[str, Any]) -> Change:
    return PutPolicy(None, PolicyInput("datahub", document | {"actors": actors}))


def _measure(name: str, make: Callable[[int], Change], *, is_sampled: bool) -> dict[str, Any]:
    spent, worked, exact = [], [], 0
    numbers = backends.list_backends()
    for number in range(NUMBER):
        change = make(number)
        began_work, began = backends.worked_ms(numbers), time.perf_counter()
        found = preview.preview_changes(
            changes=[change], by=authorizer.SYSTEM, question=EffectQuestion(100, is_sampled=is_sampled)
        )
        if number:
            spent.append((time.perf_counter() - began) * 1000)
            worked.append(backends.worked_ms(numbers) - began_work)
            exact += found.change.is_exact
    return {
        "change": name,
        "is_sampled": is_sampled,
        "number": len(spent),
        "exact": exact,
        "median": statistics.median(spent),
        "p95": statistics.quantiles(spent, n=20)[-1],
        "longest": max(spent),
        "work": statistics.quantiles(worked, n=20)[-1],
    }


if __name__ == "__main__":
    main()
