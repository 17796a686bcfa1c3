"""The times of memberships and roles on pages: given with a reason, shown in lists, changed, and taken back."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from policies.engine.families.validity import Validity
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles
from policies.models import ChangeEvent, Membership, RoleAssignment, ScheduledMembership, ScheduledRoleAssignment
from policies.writes.timed_holders import TimedHolder
from tests.web.conftest import DOOR
from tests.web.people.conftest import SYSTEM
from tests.web.people.table import GROUPS, ROLES, USERS

ADA, OTTO, STELLA = (f"urn:li:corpuser:{name}" for name in ("ada", "otto", "stella"))
LATER, END = datetime(2998, 1, 1, 8, 30, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
TYPED = {"valid_from": "2998-01-01T08:30", "valid_until": "2999-01-01T00:00", "reason": "holiday cover"}


@pytest.fixture
def team(crew):
    return groups.create(identifier="team", name="Team", members=[OTTO], by=SYSTEM, channel=DOOR)


def badges(response):
    return {row["user"].urn if "user" in row else row["urn"]: row["times"] for row in response.context["rows"]}


def shown(response, name):
    return response.context["page"].form[name].subwidgets[0].data["value"]


def test_members_are_added_for_a_time_with_a_reason_and_shown(browse, team):
    client, page = browse("root"), f"{GROUPS}/{team.urn}"
    ends = {"valid_until": TYPED["valid_until"], "reason": "holiday cover"}
    assert client.post(f"{GROUPS}/add/{team.urn}", {"members": [STELLA], **ends}).headers["Location"] == page
    assert Membership.objects.get(user__urn=STELLA, group=team.group_id).validity == Validity(None, END)
    assert client.post(f"{GROUPS}/add/{team.urn}", {"members": [ADA], **TYPED}).status_code == 302
    scheduled = ScheduledMembership.objects.get(user__urn=ADA)
    assert (scheduled.validity, scheduled.reason) == (Validity(LATER, END), "holiday cover")
    assert "holiday cover" in str(list(ChangeEvent.objects.values_list("after", flat=True)))
    found = badges(client.get(page))
    assert found[OTTO] is None
    assert found[STELLA]["label"] == "Ends 1 Jan 2999, 00:00 UTC"
    assert found[ADA]["label"] == "Begins 1 Jan 2998, 08:30 UTC"
    assert found[ADA]["title"] == "In effect from 1 Jan 2998, 08:30 UTC until 1 Jan 2999, 00:00 UTC."
    assert badges(client.get(page, {"q": "ada"})).keys() == {ADA}


def test_who_is_there_already_keeps_the_times_unless_some_are_given(browse, team):
    groups.add_members(urn=team.urn, members=[TimedHolder(STELLA, Validity(None, END))], by=SYSTEM, channel=DOOR)
    client, address = browse("root"), f"{GROUPS}/add/{team.urn}"
    assert client.post(address, {"members": [STELLA]}).status_code == 302
    assert Membership.objects.get(user__urn=STELLA, group=team.group_id).valid_until == END
    refused = client.post(address, {"members": [STELLA], "reason": "because"})
    assert refused.context["page"].form.errors.keys() == {"reason"}
    assert client.post(address, {"members": [STELLA], "valid_until": "2999-06-01T00:00"}).status_code == 302
    assert Membership.objects.get(user__urn=STELLA, group=team.group_id).valid_until == datetime(2999, 6, 1, tzinfo=UTC)


def test_the_time_of_a_member_is_changed_and_taken_back(browse, team):
    soon = timezone.now().replace(microsecond=123_000) + timedelta(days=400)
    groups.add_members(urn=team.urn, members=[TimedHolder(STELLA, Validity(None, soon))], by=SYSTEM, channel=DOOR)
    client, address = browse("root"), f"{GROUPS}/times/{team.urn}?member={STELLA}"
    assert (
        f'href="{GROUPS}/times/{team.urn}?member=urn%3Ali%3Acorpuser%3Astella"'
        in client.get(f"{GROUPS}/{team.urn}").content.decode()
    )
    client.post(address, {"valid_until": shown(client.get(address), "valid_until")})
    membership = Membership.objects.get(user__urn=STELLA, group=team.group_id)
    assert membership.valid_until == soon, "what the field shows is what is stored"
    client.post(address, {})
    membership.refresh_from_db()
    assert membership.validity == Validity()
    client.post(address, TYPED)
    assert not Membership.objects.filter(user__urn=STELLA, group=team.group_id).exists()
    assert shown(client.get(address), "valid_from") == "2998-01-01T08:30"
    assert client.post(f"{GROUPS}/take/{team.urn}", {"member": STELLA}).status_code == 302
    assert not ScheduledMembership.objects.exists()
    for urn in (STELLA, "urn:li:corpuser:nobody", "x\x00", ""):
        assert client.get(f"{GROUPS}/times/{team.urn}", {"member": urn}).status_code == 404


def test_members_of_an_identity_source_have_no_time_here(browse, crew):
    address = f"{GROUPS}/times/{crew['external'].urn}?member={OTTO}"
    assert browse("root").get(address).status_code == 404


def test_a_role_is_assigned_for_a_time_and_its_list_says_so(browse, crew):
    role = roles.create(identifier="cover", name="Cover", by=SYSTEM, channel=DOOR).urn
    client, group = browse("root"), crew["group"].urn
    ends = {"valid_until": TYPED["valid_until"], "reason": "cover"}
    assert client.post(f"{ROLES}/assign/{role}", {"actors": [group], **ends}).status_code == 302
    assert client.post(f"{ROLES}/assign/{role}", {"actors": [ADA], **TYPED}).status_code == 302
    assert client.post(f"{ROLES}/assign/{role}", {"actors": [OTTO]}).status_code == 302
    assert RoleAssignment.objects.get(role__urn=role, group__isnull=False).validity == Validity(None, END)
    assert ScheduledRoleAssignment.objects.get(role__urn=role).validity == Validity(LATER, END)
    labels = {urn: times and times["label"] for urn, times in badges(client.get(f"{ROLES}/{role}")).items()}
    assert labels == {ADA: "Begins 1 Jan 2998, 08:30 UTC", OTTO: None, group: "Ends 1 Jan 2999, 00:00 UTC"}
    address = f"{ROLES}/times/{role}?actor={group}"
    assert shown(client.get(address), "valid_until") == "2999-01-01T00:00"
    assert client.post(address, {}).status_code == 302
    assert RoleAssignment.objects.get(role__urn=role, group__isnull=False).validity == Validity()
    for urn in (STELLA, "x\x00", ""):
        assert client.get(f"{ROLES}/times/{role}", {"actor": urn}).status_code == 404
    assert client.post(f"{ROLES}/take/{role}", {"actor": ADA}).status_code == 302
    assert [row.urn for row in users_groups_roles.list_holder_times(role=users_groups_roles.get_role(urn=role))] == [
        OTTO,
        group,
    ]


def test_a_person_and_their_profile_show_what_ends(browse, team, world):
    role = roles.create(identifier="cover", name="Cover", by=SYSTEM, channel=DOOR).urn
    holder = TimedHolder(OTTO, Validity(None, END))
    roles.grant(urn=role, actors=[holder], by=SYSTEM, channel=DOOR)
    groups.add_members(urn=team.urn, members=[holder], by=SYSTEM, channel=DOOR)
    for page in (browse("root").get(f"{USERS}/{OTTO}"), browse("outsider").get("/profile")):
        assert page.content.decode().count("Ends 1 Jan 2999, 00:00 UTC") == 2


@pytest.mark.parametrize(
    ("typed", "wrong"),
    [
        ({"valid_from": "tomorrow"}, {"valid_from"}),
        ({"valid_until": "12026-01-01T00:00"}, {"valid_until"}),
        ({"valid_until": "0001-01-01T00:00+14:00"}, {"valid_until"}),
        ({"valid_until": "2020-01-01T00:00"}, {"valid_until"}),
        ({"valid_from": "2999-01-02T00:00", "valid_until": "2999-01-01T00:00"}, {"valid_until"}),
        ({"valid_from": "x\x00", "reason": "y" * 1001}, {"valid_from", "reason"}),
    ],
)
def test_wrong_times_stand_at_their_fields_and_store_nothing(browse, team, crew, typed, wrong):
    client = browse("root")
    for address, chosen in (
        (f"{GROUPS}/add/{team.urn}", {"members": [ADA]}),
        (f"{GROUPS}/times/{team.urn}?member={OTTO}", {}),
        (f"{ROLES}/assign/{crew['role'].urn}", {"actors": [ADA]}),
    ):
        refused = client.post(address, chosen | typed)
        assert refused.status_code == 422
        assert refused.context["page"].form.errors.keys() == wrong
    assert not ScheduledMembership.objects.exists()
    assert not Membership.objects.filter(valid_until__isnull=False).exists()


def test_the_effect_says_the_time_and_that_it_has_not_begun(browse, team):
    client, address = browse("root"), f"{GROUPS}/add/{team.urn}"
    asked = client.post(address, {"members": [ADA], "valid_from": "2998-01-01T08:30", "go": "look"})
    assert asked.context["effect"][0] == (
        "In effect from 1 Jan 2998, 08:30 UTC. Nothing changes until it begins: this is what it would give today."
    )
    asked = client.post(address, {"members": [ADA], "valid_until": "2999-01-01T00:00", "go": "look"})
    assert asked.context["effect"][0] == "In effect until 1 Jan 2999, 00:00 UTC."
