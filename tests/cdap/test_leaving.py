"""Who leaves as the last to administer something leaves it to the instance administrators (rules/cdap.md CD-19)."""

import pytest
from django.test import Client
from django.urls import reverse

from catalog.access import grant_source
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.identity.pages import removal_warnings
from policies.identity.services import groups, roles, users
from policies.models import ChangeEvent, User
from policies.pdp import authorizer
from tests.cdap.conftest import DOOR, ROOT, give, register, urn

CLICKS, VIEWS = urn("stream:ns1.clicks"), urn("stream:ns1.views")


@pytest.fixture
def mara(client_of):
    """Mara administers two streams, one of them alone, and a further one through a pattern."""
    register("namespace:ns1", "namespace:ns2", "stream:ns1.clicks", "stream:ns1.views", "stream:ns2.taps")
    client = client_of("mara")
    client_of("jo")
    give("mara", CLICKS, "ADMIN", "READ")
    give("mara", VIEWS, "ADMIN")
    give("jo", VIEWS, "ADMIN")
    give("mara", "stream:ns2.*", "ADMIN")
    return client


def heirs(*entities):
    return {entity: grant_source.load_privileges(pairs=[(ROOT, urn(entity))])[ROOT, urn(entity)] for entity in entities}


STREAMS = ("stream:ns1.clicks", "stream:ns1.views", "stream:ns2.taps")
HANDED_OVER = {"stream:ns1.clicks": ("ADMIN",), "stream:ns1.views": (), "stream:ns2.taps": ("ADMIN",)}


def delete():
    users.remove(urn=urn("mara"), by=authorizer.SYSTEM, channel=DOOR)


def suspend():
    users.suspend(urn=urn("mara"), by=authorizer.SYSTEM, channel=DOOR)


def hide():
    apply.apply(proposals=[Proposal(urn("mara"), "status", '{"removed": true}')], by=authorizer.SYSTEM, channel=DOOR)


@pytest.mark.parametrize("leave", [delete, suspend, hide])
def test_what_an_account_alone_administered_falls_to_who_administers_the_instance(mara, leave):
    leave()
    assert heirs(*STREAMS) == HANDED_OVER
    noted = ChangeEvent.objects.filter(object_urn=CLICKS).order_by("-id")[0]
    assert noted.after == {"principal": ROOT, "privileges": ["ADMIN"]}
    assert grant_source.list_unadministered(urns=[urn(one) for one in STREAMS]) == frozenset()


@pytest.fixture
def crowds(mara):
    """A group and a role of which each administers a stream alone."""
    groups.create(identifier="ops", name="Operations", members=[], by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="keepers", name="Keepers", by=authorizer.SYSTEM, channel=DOOR)
    register("stream:ns1.one", "stream:ns1.two")
    give("group:ops", "stream:ns1.one", "ADMIN")
    give("role:keepers", "stream:ns1.two", "ADMIN")


def test_so_it_does_with_a_group_and_a_role(crowds):
    groups.remove(urn=urn("group:ops"), by=authorizer.SYSTEM, channel=DOOR)
    roles.delete(urn=urn("role:keepers"), by=authorizer.SYSTEM, channel=DOOR)
    assert heirs("stream:ns1.one", "stream:ns1.two") == dict.fromkeys(("stream:ns1.one", "stream:ns1.two"), ("ADMIN",))


def test_a_change_that_is_refused_hands_nothing_over(mara):
    with pytest.raises(Exception, match="There is no user"):
        users.remove(urn=urn("nobody"), by=authorizer.SYSTEM, channel=DOOR)
    assert set(heirs(*STREAMS).values()) == {()}


def test_who_is_not_the_last_leaves_nothing_to_anybody(mara):
    users.remove(urn=urn("jo"), by=authorizer.SYSTEM, channel=DOOR)
    assert set(heirs(*STREAMS).values()) == {()}


def test_a_suspended_account_is_no_other_administrator(mara):
    users.suspend(urn=urn("jo"), by=authorizer.SYSTEM, channel=DOOR)
    suspend()
    assert heirs(*STREAMS)["stream:ns1.views"] == ("ADMIN",)


@pytest.fixture
def boss(client_of):
    client_of("boss", "MANAGE_USERS_AND_GROUPS", "MANAGE_POLICIES")
    client = Client()
    client.force_login(User.objects.get(username="boss"), backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.parametrize("part", ["remove", "suspend"])
def test_the_question_says_what_falls_to_whom(mara, boss, part):
    text = boss.get(reverse(f"user-{part}", args=[urn("mara")])).content.decode()
    assert "ADMIN on 2 entities that nobody else administers: ns1.clicks, ns2.taps. It falls to datahub." in text
    assert "nobody else administers" not in boss.get(reverse(f"user-{part}", args=[urn("jo")])).content.decode()


def test_the_question_says_that_not_all_was_looked_at(mara, boss, monkeypatch):
    address = reverse("user-remove", args=[urn("mara")])
    monkeypatch.setattr(removal_warnings, "_MAX_ENTITIES", 1)
    text = boss.get(address).content.decode()
    assert "ADMIN on at least 1 entity that nobody else administers: ns1.clicks. It falls to datahub." in text
    monkeypatch.setattr(removal_warnings, "_MAX_ENTITIES", 0)
    assert (
        "More than 0 entities are administered here, perhaps some by nobody else." in boss.get(address).content.decode()
    )


@pytest.mark.parametrize(("route", "who", "stream"), [("group", "group:ops", "one"), ("role", "role:keepers", "two")])
def test_so_does_the_question_about_a_group_and_a_role(crowds, boss, route, who, stream):
    text = boss.get(reverse(f"{route}-remove", args=[urn(who)])).content.decode()
    assert f"ADMIN on 1 entity that nobody else administers: ns1.{stream}. It falls to datahub." in text
