"""Invitations, reset links and passwords as services: who may, and what is never stored."""

from datetime import timedelta

import pytest
from django.utils import timezone

from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.identity.queries import users_groups_roles
from policies.identity.services import (
    groups,
    invitations,
    password_resets,
    people_writer,
    roles,
    service_accounts,
    users,
)
from policies.models import ChangeEvent, InviteToken, ResetToken
from policies.pdp import actor_resolution, authorizer
from policies.writes.unit_of_work import fingerprint
from tests.policies.conftest import DOOR

PASSWORD = "correct horse battery"


def test_links_are_made_by_who_manages_credentials(holding, user, role):
    jo, seller = user("jo"), role("seller")
    clerk = holding("MANAGE_USERS_AND_GROUPS", "MANAGE_POLICIES", username="clerk")
    keeper = holding("MANAGE_USER_CREDENTIALS", username="keeper")
    for act in (
        lambda by: invitations.create(role=seller.urn, by=by, channel=DOOR),
        lambda by: password_resets.create(urn=jo.urn, by=by, channel=DOOR),
    ):
        with pytest.raises(Forbidden) as refused:
            act(clerk)
        assert [need.privilege for need in refused.value.missing] == ["MANAGE_USER_CREDENTIALS"]
        text = act(keeper).text
        stored = [*InviteToken.objects.values(), *ResetToken.objects.values(), *ChangeEvent.objects.values()]
        assert text not in str(stored)
    with pytest.raises(Forbidden):
        invitations.revoke(invite_id=InviteToken.objects.get().pk, by=clerk, channel=DOOR)


def test_a_service_and_somebody_suspended_get_no_reset_link(system, user):
    service = service_accounts.create(display_name="Bot", by=system, channel=DOOR)
    user("sue", state="SUSPENDED")
    for urn in (service.urn, "urn:li:corpuser:sue"):
        with pytest.raises(Conflict):
            password_resets.create(urn=urn, by=system, channel=DOOR)
    for urn in ("urn:li:corpuser:nobody", "a\x00"):
        with pytest.raises(NotFound):
            password_resets.create(urn=urn, by=system, channel=DOOR)


def test_services_and_the_suspended_accept_no_invitation(system, user, role):

    text = invitations.create(role=role("seller").urn, by=system, channel=DOOR).text
    service = service_accounts.create(display_name="Bot", by=system, channel=DOOR)
    sue = user("sue", state="SUSPENDED")
    for urn in (service.urn, sue.urn, "urn:li:corpuser:nobody"):
        with pytest.raises(Forbidden):
            invitations.accept(text=text, by=actor_resolution.load_actor(urn=urn), channel=DOOR)
    with pytest.raises(Forbidden):
        invitations.accept(text=text, by=authorizer.SYSTEM, channel=DOOR)


def test_a_refused_sign_up_stores_nothing_and_names_everything(system):
    text = invitations.create(role=None, by=system, channel=DOOR).text
    with pytest.raises(Invalid) as refused:
        invitations.sign_up(
            text=text, username="a,b", password="x", display_name="x" * 300, email="x" * 400, channel=DOOR
        )
    assert {problem.pointer for problem in refused.value.problems} == {
        "/username",
        "/password",
        "/display_name",
        "/email",
    }
    with pytest.raises(NotFound):
        invitations.sign_up(text="azi_" + "x" * 43, username="jo", password=PASSWORD, channel=DOOR)


def test_whoever_asks_for_the_present_link_is_given_that_one(holding, system, role, settings):
    seller = role("seller")
    keeper = holding("MANAGE_USER_CREDENTIALS", username="keeper")
    made = invitations.create(role=seller.urn, by=system, channel=DOOR)
    assert invitations.get_or_create(role=seller.urn, by=keeper, channel=DOOR) == made
    without = invitations.get_or_create(role=None, by=keeper, channel=DOOR)
    assert without.invite.role is None
    assert invitations.get_or_create(role=None, by=keeper, channel=DOOR) == without
    assert InviteToken.objects.count() == 2
    invitations.revoke(invite_id=made.invite.pk, by=keeper, channel=DOOR)
    another = invitations.get_or_create(role=seller.urn, by=keeper, channel=DOOR)
    assert another.text != made.text
    InviteToken.objects.filter(pk=another.invite.pk).update(
        created_at=timezone.now() - timedelta(days=2), expires_at=timezone.now() - timedelta(days=1)
    )
    latest = invitations.get_or_create(role=seller.urn, by=keeper, channel=DOOR)
    assert latest.text not in (another.text, made.text)
    settings.SECRET_KEY = "another key"
    assert invitations.find(text=latest.text) == latest.invite
    assert invitations.get_or_create(role=seller.urn, by=keeper, channel=DOOR).text != latest.text
    with pytest.raises(NotFound):
        invitations.find(text=latest.text)


def test_who_may_not_make_a_link_is_not_given_the_present_one(holding, system):
    invitations.create(role=None, by=system, channel=DOOR)
    clerk = holding("MANAGE_USERS_AND_GROUPS", "MANAGE_POLICIES", username="clerk")
    with pytest.raises(Forbidden):
        invitations.get_or_create(role=None, by=clerk, channel=DOOR)
    for unknown in ("urn:li:dataHubRole:none", "a\x00", ""):
        with pytest.raises(Invalid):
            invitations.get_or_create(role=unknown, by=system, channel=DOOR)


def test_deleting_a_role_ends_its_invitation(system, role):
    seller = role("seller")
    text = invitations.create(role=seller.urn, by=system, channel=DOOR).text
    roles.delete(urn=seller.urn, by=system, channel=DOOR)
    with pytest.raises(NotFound):
        invitations.find(text=text)


def test_a_write_that_saw_something_else_is_stale(system, user, group, role):
    jo, crew, seller = user("jo"), group("crew"), role("seller")
    writes = {
        fingerprint(people_writer.facts(jo)): lambda seen, name: users.update(
            urn=jo.urn, display_name=name, expected_fingerprint=seen, by=system, channel=DOOR
        ),
        fingerprint(people_writer.facts(crew)): lambda seen, name: groups.update(
            urn=crew.urn, name=name, expected_fingerprint=seen, by=system, channel=DOOR
        ),
        fingerprint(roles.facts(seller)): lambda seen, name: roles.update(
            urn=seller.urn, name=name, expected_fingerprint=seen, by=system, channel=DOOR
        ),
    }
    for seen, write in writes.items():
        write(seen, "First")
        with pytest.raises(Stale):
            write(seen, "Second")
        write("", "Third")


def test_words_follow_the_names(system, user, group):

    jo, crew = user("jo", display_name="Josephine Ünlü"), group("crew", name="Night Crew")
    assert [found.urn for found in users_groups_roles.list_users(q="ün JOS")] == [jo.urn]
    users.update(urn=jo.urn, display_name="Other", by=system, channel=DOOR)
    assert not users_groups_roles.list_users(q="josephine").exists()
    assert [found.urn for found in users_groups_roles.list_groups(q="nig")] == [crew.urn]
    groups.update(urn=crew.urn, name="Day Crew", by=system, channel=DOOR)
    assert not users_groups_roles.list_groups(q="nig").exists()
    assert users_groups_roles.list_users(q="_%").count() == 0
    assert users_groups_roles.list_users(q="  ").count() == 1
