"""Every refusal by a guardrail has an example: for each kind of rule, by each kind of change that can break it.

Changes of facts and of grants are held up by none: what facts break is found with its example.
"""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import pytest

from catalog.cdap import grant_services
from catalog.cdap.grant_requests import GrantRequest
from catalog.entities import bootstrap
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies
from policies.engine.evaluate import decide
from policies.engine.model import Actor, DecisionCode, Question
from policies.errors import GuardrailBroken
from policies.guardrails import tasks
from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles, users
from policies.models import Guardrail, User
from policies.pdp import actor_resolution, authorizer, snapshot_store
from tests.catalog.conftest import owners, said, tell
from tests.cdap.conftest import INSTANCE
from tests.policies.conftest import DOOR
from tests.policies.test_guardrail_writes import MIA, ORDERS, make, put
from tests.policies.test_guardrails_of_later_access import name_example

JO = "urn:li:corpuser:jo"
TEAM, CREW, BAND = "urn:li:corpGroup:team", "urn:li:corpGroup:crew", "urn:li:corpGroup:band"
STEWARD, GUEST = "urn:li:dataHubRole:steward", "urn:li:dataHubRole:guest"
SECRETS, INGESTION = "MANAGE_SECRETS", "MANAGE_INGESTION"
POLICY = "urn:li:dataHubPolicy:p"

pytestmark = pytest.mark.django_db


def give(name: str, by: Actor = authorizer.SYSTEM, *, privilege: str = SECRETS, **values: Any) -> None:
    put(f"{POLICY}-{name}", by, privileges=[privilege], **values)


@pytest.fixture
def author(user, group, role) -> Actor:
    """Mia, who manages policies and people. Team, and who is a steward, manage secrets; nobody is in the groups."""
    for name in ("mia", "jo", "bea"):
        user(name)
    for name in ("team", "crew", "band"):
        group(name)
    role("steward")
    role("guest")
    put(f"{POLICY}-mia", authorizer.SYSTEM, privileges=["MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS"])
    give("team", actors={"groups": [TEAM]})
    give("steward", actors={"roles": [STEWARD]})
    return actor_resolution.load_actor(urn=MIA)


def join(group: str, by: Actor = authorizer.SYSTEM) -> None:
    groups.add_members(urn=group, members=[JO], by=by, channel=DOOR)


def leave(group: str, by: Actor) -> None:
    groups.remove_members(urn=group, members=[JO], by=by, channel=DOOR)


def assign(role: str, by: Actor = authorizer.SYSTEM) -> None:
    roles.grant(urn=role, actors=[JO], by=by, channel=DOOR)


def say_removed(by: Actor, *, removed: bool = True) -> None:
    aspect_services.apply(changes=[AspectChange(JO, "corpuser", "status", {"removed": removed})], by=by)


def stop(by: Actor) -> None:
    give("jo", by, state="INACTIVE", actors={"users": [JO]})


def deny_everybody() -> None:
    give("deny", effect="DENY", actors={"allUsers": True})


def join_team() -> None:
    join(TEAM)


#: Ways to give Jo the privilege, before the rule is made.
HELD: dict[str, tuple[Callable[[], None], ...]] = {
    "nothing": (),
    "a policy": (lambda: give("jo", actors={"users": [JO]}),),
    "a group": (join_team,),
    "a role": (lambda: assign(STEWARD),),
    "a group, as a member of the crew": (join_team, lambda: join(CREW)),
    "a group, as a guest": (join_team, lambda: assign(GUEST)),
    "a group, denied": (join_team, deny_everybody),
    "a policy beside a deny": (deny_everybody,),
}

#: Changes by which Jo gains it, each after what she has already.
GAINS: dict[str, tuple[str, Callable[[Actor], object]]] = {
    "a new policy": ("nothing", lambda by: give("jo", by, actors={"users": [JO]})),
    "a membership": ("nothing", lambda by: join(TEAM, by)),
    "a role": ("nothing", lambda by: assign(STEWARD, by)),
    "the deletion of a deny": (
        "a group, denied",
        lambda by: policies.delete(urn=f"{POLICY}-deny", by=by, channel=DOOR),
    ),
}
#: Changes by which Jo is no longer among those whom a rule leaves out.
CONCERNED: dict[str, tuple[str, Callable[[Actor], object]]] = {
    "leaving a group": ("a group, as a member of the crew", lambda by: leave(CREW, by)),
    "the deletion of a group": (
        "a group, as a member of the crew",
        lambda by: groups.remove(urn=CREW, by=by, channel=DOOR),
    ),
    "the deletion of a role": ("a group, as a guest", lambda by: roles.delete(urn=GUEST, by=by, channel=DOOR)),
}
#: Changes by which Jo loses it.
LOSSES: dict[str, tuple[str, Callable[[Actor], object]]] = {
    "a changed policy": ("a policy", stop),
    "a new deny": (
        "a policy",
        lambda by: give("deny", by, effect="DENY", actors={"users": [JO]}),
    ),
    "the deletion of a policy": ("a policy", lambda by: policies.delete(urn=f"{POLICY}-jo", by=by, channel=DOOR)),
    "leaving a group": ("a group", lambda by: leave(TEAM, by)),
    "the deletion of a group": ("a group", lambda by: groups.remove(urn=TEAM, by=by, channel=DOOR)),
    "a revoked role": ("a role", lambda by: roles.revoke(urn=STEWARD, actors=[JO], by=by, channel=DOOR)),
    "a suspension": ("a policy", lambda by: users.suspend(urn=JO, by=by, channel=DOOR)),
    "a status": ("a policy", say_removed),
    "the deletion of the user": ("a policy", lambda by: users.remove(urn=JO, by=by, channel=DOOR)),
}

OUTSIDERS = {"everybody_except": {"users": [MIA], "groups": [CREW], "roles": [GUEST]}}


class Kind(NamedTuple):
    """A rule, whom its example may name, the changes that break it, and what Jo has besides."""

    rule: dict[str, Any]
    people: Collection[str]
    changes: dict[str, tuple[str, Callable[[Actor], object]]]
    other: str = ""


KINDS = {
    "never": Kind({"never": {"actors": {"users": [JO]}, "privileges": [SECRETS]}}, {JO}, GAINS),
    "never, but for some": Kind({"never": {"actors": OUTSIDERS, "privileges": [SECRETS]}}, {JO}, CONCERNED),
    "no_policy": Kind(
        {"no_policy": {"actors": {"users": [JO]}, "privileges": [SECRETS]}},
        {JO},
        {
            **{name: gain for name, gain in GAINS.items() if "deny" not in name},
            "a policy that a deny outweighs": ("a policy beside a deny", GAINS["a new policy"][1]),
        },
    ),
    "no_policy, but for some": Kind({"no_policy": {"actors": OUTSIDERS, "privileges": [SECRETS]}}, {JO}, CONCERNED),
    "not_both": Kind(
        {"not_both": {"first": {"privileges": [SECRETS]}, "second": {"privileges": [INGESTION]}}},
        {JO},
        GAINS,
        INGESTION,
    ),
    "always": Kind({"always": {"actors": {"users": [JO]}, "privileges": [SECRETS]}}, {JO}, LOSSES),
    # Mia is left.
    "at_least": Kind({"at_least": {"number": 2, "privileges": [SECRETS]}}, {MIA}, LOSSES),
    # Nobody is left: Jo was there.
    "at_least one": Kind({"at_least": {"number": 1, "privileges": [SECRETS]}}, {JO}, LOSSES),
}
ROWS = [(kind, change) for kind, row in KINDS.items() for change in row.changes]


@pytest.mark.parametrize(("kind", "change"), ROWS)
def test_every_refusal_has_an_example(author, kind, change):
    row = KINDS[kind]
    held, write = row.changes[change]
    for prepare in HELD[held]:
        prepare()
    if row.other:
        give("other", privilege=row.other, actors={"users": [JO]})
    if kind == "at_least":
        give("mias", actors={"users": [MIA]})
    guardrail = make(row.rule)
    assert guardrail.status == Guardrail.Status.HOLDS
    with pytest.raises(GuardrailBroken) as refusal:
        write(author)
    example = refusal.value.example
    assert refusal.value.guardrail == guardrail.urn
    assert example is not None
    assert example["actor"]["urn"] in row.people
    assert example["privilege"] in {SECRETS, INGESTION}
    assert " For example " in str(refusal.value)
    # Nothing is stored: the rule holds as it did.
    snapshot_store.mark_stale()
    assert tasks.judge_guardrails() == 0
    # One that warns has the same example in its breach.
    guardrails.update(urn=guardrail.urn, mode="warn", by=authorizer.SYSTEM, channel=DOOR)
    write(author)
    stored = Guardrail.objects.get()
    assert stored.status == Guardrail.Status.BROKEN
    assert stored.breaches[-1]["example"] == example


def test_an_example_of_what_denies_refuse_is_what_the_policy_says(author):
    deny_everybody()
    make({"no_policy": {"actors": {"allUsers": True}, "privileges": [SECRETS]}})
    with pytest.raises(GuardrailBroken) as refusal:
        give("all", author, actors={"allUsers": True})
    assert refusal.value.example is not None
    person = Actor(refusal.value.example["actor"]["urn"])
    snapshot = snapshot_store.get_current()
    assert decide(snapshot, Question(person, SECRETS)).code is DecisionCode.EXPLICIT_DENY


def test_changes_of_facts_are_never_held_up_and_found_with_an_example(author):
    tell(said(ORDERS, "ownership", owners(JO)))
    put(f"{POLICY}-owners", authorizer.SYSTEM, type="METADATA", privileges=["EDIT_ENTITY"],
        actors={"resourceOwners": True})  # fmt: skip
    block = {"filter": {"criteria": [{"field": "URN", "values": [ORDERS]}]}}
    promise = {"always": {"actors": {"users": [JO]}, "privileges": ["EDIT_ENTITY"], "resources": block}}
    assert make(promise).status == Guardrail.Status.HOLDS
    tell(said(ORDERS, "ownership", owners(MIA)))
    assert tasks.judge_guardrails() == 1
    (breach,) = Guardrail.objects.get().breaches
    assert (breach["example"]["actor"]["urn"], breach["example"]["resource"]["urn"]) == (JO, ORDERS)
    # The others speak of every owner that there could be: no change of owners breaks one.
    Guardrail.objects.all().delete()
    make({"never": {"actors": {"users": [JO]}, "privileges": ["DELETE_ENTITY"], "resources": block}})
    tell(said(ORDERS, "ownership", owners(JO)))
    assert tasks.judge_guardrails() == 0


def test_grants_give_nothing_that_a_guardrail_is_about(author):
    bootstrap.register_cdap_instance(by=authorizer.SYSTEM)
    for row in KINDS.values():
        if row.changes is GAINS:
            make(row.rule)
    request = GrantRequest(JO, INSTANCE, ("ADMIN",))
    grant_services.grant(requests=[request], by=authorizer.SYSTEM, channel=DOOR)
    assert tasks.judge_guardrails() == 0


# -- people who are gone ----------------------------------------------------------------------------------------------

NEVER_JO = {"never": {"actors": {"users": [JO]}, "privileges": [SECRETS]}}


def test_the_deleted_and_the_removed_neither_break_a_rule_nor_count_for_one(author):
    give("jo", actors={"users": [JO]})
    give("mias", actors={"users": [MIA]})
    say_removed(authorizer.SYSTEM)
    assert make(NEVER_JO).status == Guardrail.Status.HOLDS
    assert make(KINDS["at_least"].rule, mode="warn").status == Guardrail.Status.BROKEN
    say_removed(authorizer.SYSTEM, removed=False)
    users.remove(urn=JO, by=authorizer.SYSTEM, channel=DOOR)
    assert tasks.judge_guardrails() == 1
    # What is given to somebody who is gone gives nothing.
    give("more", author, actors={"users": [JO, MIA]})


def test_who_is_restored_is_judged(author):
    make(NEVER_JO)
    say_removed(authorizer.SYSTEM)
    give("jo", author, actors={"users": [JO]})
    with pytest.raises(GuardrailBroken) as refusal:
        say_removed(author, removed=False)
    assert name_example(refusal.value) == JO
    assert User.objects.get(urn=JO).is_removed


@pytest.mark.parametrize("is_broken", [False, True])
def test_who_is_created_again_is_judged(author, is_broken):
    rule = {"never": {"actors": {"users": [JO, "urn:li:corpuser:bea"]}, "privileges": [SECRETS]}}
    if is_broken:
        give("bea", actors={"users": ["urn:li:corpuser:bea"]})
    guardrail = make(rule)
    assert guardrail.status == (Guardrail.Status.BROKEN if is_broken else Guardrail.Status.HOLDS)
    users.remove(urn=JO, by=authorizer.SYSTEM, channel=DOOR)
    if is_broken:
        # Bea has it already, and Jo is gone: nobody gains whom the rule is about.
        give("all", author, actors={"allUsers": True})
    else:
        give("all", author, actors={"allUsers": True, "excludedUsers": ["urn:li:corpuser:bea"]})
    with pytest.raises(GuardrailBroken) as refusal:
        users.create(username="jo", by=author, channel=DOOR)
    assert name_example(refusal.value) == JO
    assert not User.objects.filter(urn=JO).exists()


def test_accounts_are_still_made_where_all_users_break_a_rule_already(author):
    stranger = "urn:li:corpuser:stranger"
    make({"never": {"actors": {"users": [JO, stranger]}, "privileges": [SECRETS]}}, mode="warn")
    give("all", author, actors={"allUsers": True})
    guardrails.update(urn=Guardrail.objects.get().urn, mode="enforce", by=authorizer.SYSTEM, channel=DOOR)
    # Somebody who was never registered has what all users have already.
    users.create(username="stranger", by=author, channel=DOOR)
    users.remove(urn=stranger, by=authorizer.SYSTEM, channel=DOOR)
    # Somebody who was deleted has not.
    with pytest.raises(GuardrailBroken):
        users.create(username="stranger", by=author, channel=DOOR)


def test_no_policy_speaks_to_who_is_suspended_or_gone_only_once_they_are_back(author):
    make({"no_policy": {"actors": {"users": [JO]}, "privileges": [SECRETS]}})
    join(CREW)
    give("others", author, actors={"allUsers": True, "excludedGroups": [CREW]})
    # Neither the suspension nor the deletion of somebody whom the policy leaves out adds anything.
    users.suspend(urn=JO, by=author, channel=DOOR)
    users.activate(urn=JO, by=author, channel=DOOR)
    users.suspend(urn=JO, by=author, channel=DOOR)
    for name, actors in (("crew", {"groups": [CREW]}), ("jo", {"users": [JO]})):
        give(name, author, actors=actors)
        assert tasks.judge_guardrails() == 0
        with pytest.raises(GuardrailBroken):
            users.activate(urn=JO, by=author, channel=DOOR)
        policies.delete(urn=f"{POLICY}-{name}", by=author, channel=DOOR)
    give("others", author, actors={"allUsers": True, "excludedGroups": [CREW]}, description="Again")
    users.remove(urn=JO, by=author, channel=DOOR)
    give("jo", author, actors={"users": [JO]})
    assert tasks.judge_guardrails() == 0
    # Somebody who was never registered is spoken to.
    make({"no_policy": {"actors": {"users": ["urn:li:corpuser:stranger"]}, "privileges": [INGESTION]}})
    with pytest.raises(GuardrailBroken):
        give("stranger", author, privilege=INGESTION, actors={"users": ["urn:li:corpuser:stranger"]})


def test_the_built_in_one_names_who_was_there_and_who_is_left(author):
    guardrails.ensure_built_in(by=authorizer.SYSTEM)
    users.set_password(urn=MIA, password="correct horse battery", by=authorizer.SYSTEM, channel=DOOR)
    for write in (
        lambda: policies.delete(urn=f"{POLICY}-mia", by=author, channel=DOOR),
        lambda: users.suspend(urn=MIA, by=author, channel=DOOR),
        lambda: users.remove(urn=MIA, by=author, channel=DOOR),
        lambda: put(f"{POLICY}-mia", author, privileges=["MANAGE_POLICIES"], validUntil="2099-01-01T00:00:00Z"),
    ):
        with pytest.raises(GuardrailBroken) as refusal:
            write()
        assert name_example(refusal.value) == MIA
