"""Guardrails about every catalog count what begins later, when it is written; those about today do not."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from policies.authoring.services import guardrails
from policies.engine.families.validity import Validity
from policies.engine.model import Actor
from policies.errors import GuardrailBroken
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


def test_today_counts_who_is_there_today(author, user):
    join(TEAM, authorizer.SYSTEM, begins=1)
    made = make({"at_least": {"number": 2, "privileges": ["MANAGE_SECRETS"]}})
    assert made.status == Guardrail.Status.BROKEN
    always = make({"always": {"actors": {"users": [JO]}, "privileges": ["MANAGE_SECRETS"]}})
    assert always.status == Guardrail.Status.BROKEN


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
