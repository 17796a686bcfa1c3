"""Guardrails are judged now and at every later time that is known, when something is written."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from catalog.models import Finding
from policies.engine.families.validity import Validity
from policies.engine.model import Actor
from policies.errors import GuardrailBroken
from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles
from policies.models import Guardrail, ScheduledMembership, ScheduledRoleAssignment
from policies.pdp import actor_resolution, authorizer, later_actors
from policies.writes.timed_holders import TimedHolder
from tests.policies.conftest import DOOR
from tests.policies.test_guardrail_writes import BOTH, MIA, make, put

HOUR = timedelta(hours=1)
JO, TEAM, CREW, STEWARD = "urn:li:corpuser:jo", "urn:li:corpGroup:team", "urn:li:corpGroup:crew", "urn:li:dataHubRole:s"
NEVER = {"never": {"actors": {"users": [JO]}, "privileges": ["MANAGE_SECRETS"]}}

pytestmark = pytest.mark.django_db


@pytest.fixture
def author(user, group, role, system) -> Actor:
    """Mia, who manages people and policies; Jo has nothing. Team may manage secrets, Crew and the role ingestion."""
    user("mia")
    user("jo")
    group("team")
    group("crew")
    role("s")
    powers = ["MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS", "MANAGE_SECRETS", "MANAGE_INGESTION"]
    put("urn:li:dataHubPolicy:mia", authorizer.SYSTEM, privileges=powers)
    put("urn:li:dataHubPolicy:team", authorizer.SYSTEM, privileges=["MANAGE_SECRETS"], actors={"groups": [TEAM]})
    put(
        "urn:li:dataHubPolicy:crew",
        authorizer.SYSTEM,
        privileges=["MANAGE_INGESTION"],
        actors={"groups": [CREW], "roles": [STEWARD]},
    )
    return actor_resolution.load_actor(urn=MIA)


def at(hours: int) -> datetime:
    return timezone.now().replace(microsecond=0) + hours * HOUR


def join(group: str, by: Actor, begins: int | None = None, ends: int | None = None) -> None:
    validity = Validity(*(None if hours is None else at(hours) for hours in (begins, ends)))
    groups.add_members(urn=group, members=[TimedHolder(JO, validity)], by=by, channel=DOOR)


def assign(holder: str, by: Actor, begins: int | None = None, ends: int | None = None) -> None:
    validity = Validity(*(None if hours is None else at(hours) for hours in (begins, ends)))
    roles.grant(urn=STEWARD, actors=[TimedHolder(holder, validity)], by=by, channel=DOOR)


def test_a_membership_that_begins_later_is_refused_when_it_is_written(author):
    make(NEVER)
    with pytest.raises(GuardrailBroken) as refusal:
        join(TEAM, author, begins=1)
    assert refusal.value.example is not None
    assert refusal.value.example["actor"]["urn"] == JO
    assert not ScheduledMembership.objects.exists()
    join(CREW, author, begins=1)


@pytest.mark.parametrize("holder", [JO, CREW])
def test_a_role_that_begins_later_is_refused_when_it_is_written(author, holder):
    make({"never": {"actors": {"users": [JO]}, "privileges": ["MANAGE_INGESTION"]}})
    put("urn:li:dataHubPolicy:crew", authorizer.SYSTEM, privileges=["MANAGE_INGESTION"], actors={"roles": [STEWARD]})
    join(CREW, authorizer.SYSTEM)
    with pytest.raises(GuardrailBroken):
        assign(holder, author, begins=1)
    assert not ScheduledRoleAssignment.objects.exists()


def test_a_policy_counts_who_will_join_its_group(author):
    make({"never": {"actors": {"users": [JO]}, "privileges": ["MANAGE_TAGS"]}})
    join(CREW, authorizer.SYSTEM, begins=1)
    with pytest.raises(GuardrailBroken):
        put("urn:li:dataHubPolicy:new", author, privileges=["MANAGE_TAGS"], actors={"groups": [CREW]})
    put("urn:li:dataHubPolicy:new", author, privileges=["MANAGE_TAGS"], actors={"groups": [TEAM]})


def test_a_role_of_a_group_counts_who_will_join_it(author):
    make({"never": {"actors": {"users": [JO]}, "privileges": ["MANAGE_INGESTION"]}})
    join(TEAM, authorizer.SYSTEM, begins=1)
    with pytest.raises(GuardrailBroken):
        roles.grant(urn=STEWARD, actors=[TEAM], by=author, channel=DOOR)


def test_not_both_is_about_one_time(author):
    make(BOTH)
    join(TEAM, author, ends=2)
    join(CREW, author, begins=2)
    with pytest.raises(GuardrailBroken):
        join(CREW, author, begins=1)
    with pytest.raises(GuardrailBroken):
        assign(JO, author, begins=1, ends=2)
    assign(JO, author, begins=3)


def test_who_leaves_a_denied_group_later_is_allowed_then(author):
    join(TEAM, authorizer.SYSTEM)
    join(CREW, authorizer.SYSTEM)
    put(
        "urn:li:dataHubPolicy:no",
        authorizer.SYSTEM,
        effect="DENY",
        privileges=["MANAGE_SECRETS"],
        actors={"groups": [CREW]},
    )
    assert make(NEVER).status == Guardrail.Status.HOLDS
    with pytest.raises(GuardrailBroken):
        join(CREW, author, ends=1)


def test_one_that_is_broken_already_refuses_only_more(author):
    join(TEAM, authorizer.SYSTEM, begins=1)
    made = make(NEVER)
    assert (made.status, made.breaches[0]["people"]) == (Guardrail.Status.BROKEN, [JO])
    join(CREW, author, begins=2)
    join(TEAM, author, begins=3)
    assert guardrails.refresh_statuses() == 1


def name_example(refusal: GuardrailBroken) -> object:
    assert refusal.example is not None
    return refusal.example["actor"]["urn"]


ALWAYS = {"always": {"actors": {"users": [JO]}, "privileges": ["MANAGE_SECRETS"]}}
TWO = {"at_least": {"number": 2, "privileges": ["MANAGE_SECRETS"]}}
JOS = "urn:li:dataHubPolicy:jo"
OF_JO = {"privileges": ["MANAGE_SECRETS"], "actors": {"users": [JO]}}


def test_today_counts_who_is_there_today(author, user):
    join(TEAM, authorizer.SYSTEM, begins=1)
    assert make(TWO).status == Guardrail.Status.BROKEN
    assert make(ALWAYS).status == Guardrail.Status.BROKEN


@pytest.mark.parametrize("rule", [ALWAYS, TWO])
@pytest.mark.parametrize(
    "changes",
    [
        {"state": "INACTIVE"},
        {"validFrom": at(24).isoformat()},
        {"validUntil": at(24).isoformat()},
        {"validFrom": at(24).isoformat(), "validUntil": at(48).isoformat()},
        {"actors": {"users": [MIA]}},
    ],
)
def test_what_is_promised_is_not_taken_now_or_later(author, rule, changes):
    put(JOS, authorizer.SYSTEM, **OF_JO)
    assert make(rule).status == Guardrail.Status.HOLDS
    with pytest.raises(GuardrailBroken) as refusal:
        put(JOS, author, **{**OF_JO, **changes})
    assert name_example(refusal.value) in {JO, MIA}
    # Another one that gives it in the meantime keeps the promise.
    put(f"{JOS}-too", author, **OF_JO)
    put(JOS, author, **{**OF_JO, **changes})


def test_a_deny_that_begins_later_and_a_membership_that_ends_take_what_is_promised(author):
    put(JOS, authorizer.SYSTEM, **OF_JO)
    made = make(ALWAYS)
    with pytest.raises(GuardrailBroken, match=r"from .* on, so nothing is stored"):
        put(f"{JOS}-no", author, **OF_JO, effect="DENY", validFrom=at(1).isoformat())
    guardrails.delete(urn=made.urn, by=authorizer.SYSTEM, channel=DOOR)
    put(JOS, authorizer.SYSTEM, **{**OF_JO, "state": "INACTIVE"})
    join(TEAM, authorizer.SYSTEM)
    make(ALWAYS)
    with pytest.raises(GuardrailBroken):
        join(TEAM, author, ends=1)


def test_one_that_warns_says_when_it_breaks(author):
    put(JOS, authorizer.SYSTEM, **OF_JO)
    make(ALWAYS, mode="warn")
    end = at(1)
    put(JOS, author, **OF_JO, validUntil=end.isoformat())
    for _ in range(2):
        guardrail = Guardrail.objects.get()
        assert (guardrail.status, guardrail.breaks_at) == (Guardrail.Status.HOLDS, end.isoformat())
        finding = Finding.objects.get(kind="guardrails")
        assert (finding.state, finding.sentence) == (
            "OPEN",
            f"The guardrail G will be broken in 1 way, first at {end.isoformat()}.",
        )
        guardrails.refresh_statuses()


def test_a_break_that_was_due_holds_up_nothing(author):
    end = at(2).isoformat()
    put(JOS, authorizer.SYSTEM, **OF_JO, validUntil=end)
    made = make(ALWAYS)
    assert (made.status, made.breaks_at) == (Guardrail.Status.HOLDS, end)
    put(JOS, author, **OF_JO, validUntil=end, description="The same, in other words")
    put(JOS, author, **OF_JO, validUntil=at(3).isoformat())
    with pytest.raises(GuardrailBroken):
        put(JOS, author, **OF_JO, validUntil=at(1).isoformat())


def test_who_is_left_is_the_example_and_where_nobody_is_who_was(author):
    put(JOS, authorizer.SYSTEM, **OF_JO)
    make(TWO)
    with pytest.raises(GuardrailBroken) as refusal:
        put(JOS, author, **{**OF_JO, "state": "INACTIVE"})
    assert name_example(refusal.value) == MIA
    tags = {**OF_JO, "privileges": ["MANAGE_TAGS"]}
    put(f"{JOS}-tags", authorizer.SYSTEM, **tags)
    make({"at_least": {"number": 1, "privileges": ["MANAGE_TAGS"]}})
    with pytest.raises(GuardrailBroken) as refusal:
        put(f"{JOS}-tags", author, **{**tags, "state": "INACTIVE"})
    assert name_example(refusal.value) == JO


def test_the_states_of_an_actor_follow_its_times(author):
    join(TEAM, authorizer.SYSTEM, ends=2)
    join(CREW, authorizer.SYSTEM, begins=1, ends=4)
    assign(CREW, authorizer.SYSTEM, begins=3)
    actor = actor_resolution.load_actor(urn=JO)
    assert actor.groups == {TEAM}
    states = later_actors.load_later_actors(actors=[actor, author])
    assert [(set(state.groups), set(state.roles)) for state in states[JO]] == [
        ({TEAM, CREW}, set()),
        ({CREW}, set()),
        ({CREW}, {STEWARD}),
        (set(), set()),
    ]
    assert states.keys() == {JO}
    assert later_actors.list_users_named_later(tokens={STEWARD}) == {JO}
