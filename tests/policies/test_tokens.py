"""Access tokens: made, recognised, ended."""

import hashlib
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Forbidden, Invalid, NotFound
from policies.identity.queries import credentials
from policies.identity.services import access_tokens, users
from policies.models import AccessToken, ChangeEvent
from policies.pdp import actor_resolution

pytestmark = pytest.mark.django_db

DOOR = "test"


@pytest.fixture
def jo(user):
    return user("jo")


@pytest.fixture
def issued(system, jo):
    return access_tokens.create(owner=jo.urn, name="laptop", by=system, channel=DOOR)


def test_a_token_speaks_for_its_user_and_is_kept_as_a_digest(issued, jo):
    assert access_tokens.authenticate(text=issued.text) == jo
    row = AccessToken.objects.get()
    assert row.digest == hashlib.sha256(issued.text.encode()).hexdigest()
    assert row.prefix == issued.text[:8]
    assert len(issued.text) == 47
    kept = [*vars(row).values(), *ChangeEvent.objects.values_list("before", "after")]
    assert issued.text not in str(kept)


@pytest.mark.parametrize("text", ["", "azs_", "azs_" + "a" * 43, "a" * 47, "azs_" + "\u00e9" * 43, "\x00", "\ud800"])
def test_an_invented_token_speaks_for_nobody(issued, text):
    assert access_tokens.authenticate(text=text) is None


def test_what_is_almost_the_token_is_not_the_token(issued):
    for text in (issued.text + "\n", issued.text + "a", issued.text[:-1], issued.text.upper(), " " + issued.text):
        assert access_tokens.authenticate(text=text) is None


@pytest.mark.parametrize("name", list(access_tokens.DURATIONS))
def test_a_token_lives_as_long_as_datahub_says(system, jo, name):
    token = access_tokens.create(owner=jo.urn, name="t", duration=name, by=system, channel=DOOR).token
    lifetime = access_tokens.DURATIONS[name]
    assert token.expires_at == (None if lifetime is None else token.created_at + lifetime)


def test_an_expired_token_is_dead_and_not_listed(issued):
    past = timezone.now() - timedelta(seconds=1)
    AccessToken.objects.update(created_at=past - timedelta(days=1), expires_at=past)
    assert access_tokens.authenticate(text=issued.text) is None
    assert not credentials.list_tokens().exists()


def test_recognising_costs_one_query_and_use_is_noted_once_a_minute(issued, django_assert_num_queries):
    with django_assert_num_queries(2):
        access_tokens.authenticate(text=issued.text)
    first = AccessToken.objects.get().last_used
    assert first is not None
    with django_assert_num_queries(1):
        access_tokens.authenticate(text=issued.text)
    AccessToken.objects.update(last_used=first - timedelta(seconds=61))
    access_tokens.authenticate(text=issued.text)
    again = AccessToken.objects.get().last_used
    assert again is not None
    assert again >= first
    with django_assert_num_queries(0):
        access_tokens.authenticate(text="azs_short")


def test_a_revoked_token_is_dead_at_once(issued, jo):
    access_tokens.revoke(token_id=issued.token.pk, by=actor_resolution.load_actor(urn=jo.urn), channel=DOOR)
    assert access_tokens.authenticate(text=issued.text) is None
    assert not credentials.list_tokens(owner=jo.urn).exists()
    assert ChangeEvent.objects.filter(object_urn=jo.urn, verb="TOKEN_REVOKED").count() == 1


@pytest.mark.parametrize("token_id", ["00000000-0000-0000-0000-000000000000", "x", "", "\x00"])
def test_a_token_that_never_was(system, holding, token_id):
    with pytest.raises(NotFound):
        access_tokens.revoke(token_id=token_id, by=system, channel=DOOR)
    with pytest.raises(Forbidden):
        access_tokens.revoke(token_id=token_id, by=holding(), channel=DOOR)


def test_a_second_revocation_finds_nothing(issued, system):
    access_tokens.revoke(token_id=str(issued.token.pk), by=system, channel=DOOR)
    with pytest.raises(NotFound):
        access_tokens.revoke(token_id=str(issued.token.pk), by=system, channel=DOOR)


def test_whose_tokens_need_what(user, jo, holding, issued):
    own, all_of_them, services = (
        holding("GENERATE_PERSONAL_ACCESS_TOKENS", username="own"),
        holding("MANAGE_ACCESS_TOKENS", username="all"),
        holding("MANAGE_SERVICE_ACCOUNTS", username="services"),
    )
    service = user("svc", kind="SERVICE").urn
    may = {
        own.urn: {own.urn},
        all_of_them.urn: {all_of_them.urn, jo.urn, service},
        services.urn: {service},
        jo.urn: set(),
    }
    for by in (own, all_of_them, services, actor_resolution.load_actor(urn=jo.urn)):
        for owner in (by.urn, jo.urn, service):
            if owner in may[by.urn]:
                assert access_tokens.create(owner=owner, name="t", by=by, channel=DOOR).token.created_by == by.urn
            else:
                with pytest.raises(Forbidden):
                    access_tokens.create(owner=owner, name="t", by=by, channel=DOOR)
    for by in (own, services):
        with pytest.raises(Forbidden):
            access_tokens.revoke(token_id=issued.token.pk, by=by, channel=DOOR)
    access_tokens.revoke(token_id=issued.token.pk, by=all_of_them, channel=DOOR)
    assert {token.user.urn for token in credentials.list_tokens(created_by=all_of_them.urn)} == may[all_of_them.urn]
    assert credentials.list_tokens(owner=service).count() == 2
    assert not credentials.list_tokens(owner="\x00").exists()


def test_a_token_for_nobody_or_somebody_who_may_not_act(system, user, jo):
    users.suspend(urn=jo.urn, by=system, channel=DOOR)
    for owner in (jo.urn, "urn:li:corpuser:nobody", SYSTEM_ACTOR, "\x00"):
        with pytest.raises(Invalid) as refusal:
            access_tokens.create(owner=owner, name="t", by=system, channel=DOOR)
        assert [problem.pointer for problem in refusal.value.problems] == ["/actor"]


@pytest.mark.parametrize("duration", ["SOON", "", timedelta(0), timedelta(days=-1), timedelta.max])
def test_problems_of_tokens_are_named_together(system, jo, duration):
    with pytest.raises(Invalid) as refusal:
        access_tokens.create(owner=jo.urn, name=" ", duration=duration, by=system, channel=DOOR)
    assert {problem.pointer for problem in refusal.value.problems} == {"/name", "/duration"}
    assert not AccessToken.objects.exists()


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("create_token", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_token_and_nothing_else(jo):
    assert access_tokens.authenticate(text=run(jo.urn, "--name", "ci").removesuffix("\n")) == jo
    assert AccessToken.objects.get().expires_at is not None


@pytest.mark.parametrize(("expires", "lifetime"), [("2h", timedelta(hours=2)), ("30d", timedelta(days=30))])
def test_the_command_takes_a_length_of_time(jo, expires, lifetime):
    run(jo.urn, "--name", "ci", "--expires", expires)
    token = AccessToken.objects.get()
    assert token.expires_at == token.created_at + lifetime


def test_the_command_makes_a_token_for_ever(jo):
    run(jo.urn, "--name", "ci", "--expires", "never")
    assert AccessToken.objects.get().expires_at is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("urn:li:corpuser:nobody", "--name", "x"),
        (SYSTEM_ACTOR, "--name", "x"),
        ("urn:li:corpuser:jo", "--name", " "),
        ("urn:li:corpuser:jo", "--name", "x", "--expires", "soon"),
        ("urn:li:corpuser:jo", "--name", "x", "--expires", "0d"),
        ("urn:li:corpuser:jo", "--name", "x", "--expires", "999999w"),
        ("urn:li:corpuser:jo",),
    ],
)
def test_the_command_refuses_in_one_sentence(jo, arguments):
    with pytest.raises(CommandError):
        run(*arguments)
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize("command", ["create_token", "unlink_identity"])
def test_a_name_in_the_place_of_a_urn_is_said_to_be_none(jo, command):
    arguments = ["--name", "ci"] if command == "create_token" else []
    with pytest.raises(CommandError, match="'jo' is not a URN; give one such as urn:li:corpuser:"):
        call_command(command, "jo", *arguments)
