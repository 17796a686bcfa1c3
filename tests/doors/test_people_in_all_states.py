"""People in every state, named by policies in every way: all answers about them are the one of a single decision.

The policies are drawn anew on each run, by its seed; more such worlds are drawn in a whole run.
"""

import json
import random
from typing import Any

import pytest

from catalog.ingest import apply as ingest
from catalog.ingest.validate import Proposal
from catalog.reports.snapshot import schema
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import removed_names
from policies.identity.services import groups, roles, users
from policies.models import Membership, RoleAssignment
from policies.pdp import authorizer
from tests.depth import count_examples
from tests.doors.conftest import DOOR, Caller, give
from tests.doors.graphql.conftest import close_the_reading_policies

pytestmark = pytest.mark.django_db

STATES = ("active", "suspended", "removed", "restored", "deleted", "cleaned", "created again", "unknown")
PEOPLE = {state: f"urn:li:corpuser:{state.replace(' ', '-')}" for state in STATES}
GONE = {
    "suspended": "actor_suspended",
    "removed": "actor_removed",
    "deleted": "actor_removed",
    "cleaned": "actor_removed",
}
GROUPS = ("crew", "removed-crew", "deleted-crew", "crew-again")
ROLE = "urn:li:dataHubRole:helper"
ASSETS = [
    f"urn:li:dataset:(urn:li:dataPlatform:snowflake,{name},PROD)" for name in ("by-people", "by-groups", "by-none")
]
PRIVILEGES = ("DELETE_ENTITY", "EDIT_ENTITY_DOCS", "EDIT_ENTITY_TAGS", "VIEW_DATASET_USAGE")


def group_urn(name: str) -> str:
    return f"urn:li:corpGroup:{name}"


def set_removed(urn: str, *, removed: bool) -> None:
    change = AspectChange(urn, urn.split(":")[2], "status", {"removed": removed})
    aspect_services.apply(changes=[change], by=authorizer.SYSTEM)


def own(asset: str, owners: list[str]) -> None:
    document = json.dumps({"owners": [{"owner": owner, "type": "DATAOWNER"} for owner in owners]})
    ingest.apply(proposals=[Proposal(asset, "ownership", document)], by=authorizer.SYSTEM, channel=DOOR)


def draw_policies(draw: random.Random) -> None:
    """Policies that name some people, groups and owners, allow and deny, and except somebody.

    Of groups that are to be deleted only policies that allow: others keep a group from being deleted.
    """
    for number in range(14):
        is_deny = draw.random() < 0.2
        named_groups = [group_urn(name) for name in (GROUPS[:2] if is_deny else GROUPS)]
        actors: dict[str, Any] = {
            "users": draw.sample(list(PEOPLE.values()), draw.randint(0, 4)),
            "groups": draw.sample(named_groups, draw.randint(0, 1)),
            "roles": [ROLE] * draw.randint(0, 1),
            "allUsers": draw.random() < 0.15 and not is_deny,
            "resourceOwners": draw.random() < 0.4,
        }
        if draw.random() < 0.3:
            actors["excludedUsers"] = draw.sample(list(PEOPLE.values()), 2)
        if draw.random() < 0.2:
            actors["excludedGroups"] = [group_urn(draw.choice(GROUPS[:2]))]
        criteria = [{"field": "URN", "condition": "EQUALS", "values": draw.sample(ASSETS, 2)}]
        give(
            f"urn:li:corpuser:drawn-{number}",
            # What the policy for everybody gives is denied to nobody.
            *draw.sample(PRIVILEGES[1:] if is_deny else PRIVILEGES, 2),
            actors=actors,
            resources={"filter": {"criteria": criteria if draw.random() < 0.5 else []}},
            effect="DENY" if is_deny else "ALLOW",
        )
    everybody = {"users": list(PEOPLE.values()), "groups": [group_urn(name) for name in GROUPS]}
    first_asset = [{"field": "URN", "condition": "EQUALS", "values": ASSETS[:1]}]
    give("urn:li:corpuser:everybody", PRIVILEGES[0], actors=everybody, resources={"filter": {"criteria": first_asset}})


KNOWN = [urn for state, urn in PEOPLE.items() if state != "unknown"]
BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}


@pytest.fixture
def company(installed: None, root: Caller) -> Caller:
    """People, and groups with a role, of whom nobody has gone yet."""
    close_the_reading_policies()
    roles.create(name="Helper", identifier="helper", **BY)
    for urn in KNOWN:
        users.create(username=urn.removeprefix("urn:li:corpuser:"), **BY)
    return root


def draw_office(draw: random.Random) -> None:
    """Give the company drawn memberships, policies and assets, and let everybody come and go."""
    for name in GROUPS:
        members = KNOWN if draw.random() < 0.5 else draw.sample(KNOWN, 4)
        groups.create(name=name, identifier=name, members=members, **BY)
        roles.grant(urn=ROLE, actors=[group_urn(name)] if name != "crew" else [PEOPLE["active"]], **BY)
    draw_policies(draw)
    own(ASSETS[0], draw.sample(list(PEOPLE.values()), 6))
    own(ASSETS[1], [group_urn(name) for name in GROUPS])
    own(ASSETS[2], [])
    for name in ("removed", "restored"):
        set_removed(PEOPLE[name], removed=True)
    set_removed(group_urn("removed-crew"), removed=True)
    users.suspend(urn=PEOPLE["suspended"], **BY)
    for state in ("cleaned", "created again"):
        users.remove(urn=PEOPLE[state], **BY)
    groups.remove(urn=group_urn("crew-again"), **BY)
    removed_names.remove_names()
    users.create(username="created-again", **BY)
    groups.create(name="Again", identifier="crew-again", members=[PEOPLE["active"]], **BY)
    set_removed(PEOPLE["restored"], removed=False)
    users.remove(urn=PEOPLE["deleted"], **BY)
    groups.remove(urn=group_urn("deleted-crew"), **BY)


def tokens_of(urn: str) -> set[str]:
    """What may name somebody who is there: the URN, groups that are not removed, and roles by either."""
    rows = Membership.objects.filter(user__urn=urn, group__profile__is_removed=False)
    memberships = set(rows.values_list("group__profile__urn", flat=True))
    own_roles = RoleAssignment.objects.filter(user__urn=urn).values_list("role__urn", flat=True)
    group_roles = RoleAssignment.objects.filter(group__profile__urn__in=memberships).values_list("role__urn", flat=True)
    return {urn, *memberships, *own_roles, *group_roles}


@pytest.mark.parametrize("number", range(count_examples(usual=1, whole=16)))
def test_every_answer_is_that_of_the_single_decision(company: Caller, pytestconfig: pytest.Config, number: int) -> None:
    draw_office(random.Random(f"{pytestconfig.getoption('hypothesis_seed', None)} {number}"))
    office = company
    asked = [(state, privilege, asset) for state in STATES for privilege in PRIVILEGES for asset in ASSETS]
    questions = [
        {"actor": PEOPLE[state], "privilege": privilege, "resource": {"urn": asset}}
        for state, privilege, asset in asked
    ]
    single = [office.post("/api/v1/authorize", question).json() for question in questions[:: len(PRIVILEGES)]]
    decisions = office.post("/api/v1/authorize/batch", {"questions": questions}).json()["decisions"]
    assert [one["decision"] for one in decisions[:: len(PRIVILEGES)]] == [one["decision"] for one in single]
    allowed = {key for key, one in zip(asked, decisions, strict=True) if one["decision"] == "ALLOW"}
    codes = {
        state: {one["code"] for (who, *_), one in zip(asked, decisions, strict=True) if who == state}
        for state in STATES
    }
    assert {state: codes[state] for state in GONE} == {state: {code} for state, code in GONE.items()}
    assert all("actor_removed" not in codes[state] for state in set(STATES) - GONE.keys())
    assert {state for state, *_ in allowed} >= {"active", "restored", "unknown"}

    evaluations = [
        {
            "subject": {"type": "user", "id": PEOPLE[state]},
            "action": {"name": privilege},
            "resource": {"type": "dataset", "id": asset},
        }
        for state, privilege, asset in asked
    ]
    answers = office.post("/access/v1/evaluations", {"evaluations": evaluations}).json()["evaluations"]
    assert {key for key, one in zip(asked, answers, strict=True) if one["decision"]} == allowed

    for state, urn in PEOPLE.items():
        for asset in ASSETS:
            body = {"actor": urn, "resource": {"urn": asset}}
            held = set(office.post("/api/v1/granted-privileges", body).json()["privileges"])
            assert held & set(PRIVILEGES) == {name for who, name, what in allowed if (who, what) == (state, asset)}
        for privilege in PRIVILEGES:
            page = office.post("/api/v1/what", {"actor": urn, "privilege": privilege, "type": "dataset"}).json()
            reached = {asset for who, name, asset in allowed if (who, name) == (state, privilege)}
            assert {row["urn"] for row in page["results"]} == reached

    for privilege in PRIVILEGES:
        for asset in ASSETS:
            who = office.post("/api/v1/who", {"privilege": privilege, "resource": {"urn": asset}}).json()
            named = {*who["users"], *who["groups"], *who["roles"]}
            spared = {name for names in who["except"].values() for name in names}
            assert named.isdisjoint({PEOPLE[state] for state in GONE})
            assert named.isdisjoint({group_urn("removed-crew"), group_urn("deleted-crew")})
            for state in set(STATES) - GONE.keys():
                tokens = tokens_of(PEOPLE[state])
                is_named = who["all_users"] or not tokens.isdisjoint(named)
                if is_named and tokens.isdisjoint(spared):
                    assert (state, privilege, asset) in allowed
                assert is_named or (state, privilege, asset) not in allowed
            search = {
                "subject": {"type": "user"},
                "action": {"name": privilege},
                "resource": {"type": "dataset", "id": asset},
            }
            found = {one["id"] for one in office.post("/access/v1/search/subject", search).json()["results"]}
            known = {state: PEOPLE[state].removeprefix("urn:li:corpuser:") for state in STATES if state != "unknown"}
            assert {state for state, name in known.items() if {name, PEOPLE[state]} & found} == {
                who for who, name, what in allowed if (name, what) == (privilege, asset) and who != "unknown"
            }

    # Reports read people from here.
    rows = dict(schema._select_users().values_list("urn", "may_act"))
    assert {state: rows.get(urn) for state, urn in PEOPLE.items()} == {
        "active": True,
        "suspended": False,
        "removed": False,
        "restored": True,
        "deleted": None,
        "cleaned": None,
        "created again": True,
        "unknown": None,
    }
