"""Passwords are tried only so often; nobody is locked out from elsewhere, and there is a way back."""

from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client

from policies import bootstrap
from policies.identity.services import users
from policies.pdp import authorizer

PASSWORD = "a good long word 42"


LIMIT = 3


@pytest.fixture(autouse=True)
def _jo(db, settings):
    settings.AXES_FAILURE_LIMIT = LIMIT
    # What a password costs is not tested here.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    bootstrap.run(is_restricted=True)
    users.create(username="jo", password=PASSWORD, by=authorizer.SYSTEM, channel="test")


def try_in(path, password, username="jo", address="192.0.2.1"):
    sent = {"username": username, "password": password}
    browser = Client(REMOTE_ADDR=address)
    return browser.post(path, sent, content_type="application/json") if path == "/logIn" else browser.post(path, sent)


@pytest.mark.parametrize(("path", "refused", "let_in"), [("/login", 200, 302), ("/logIn", 401, 200)])
def test_too_many_wrong_passwords(settings, path, refused, let_in):
    statuses = [try_in(path, f"wrong {one}").status_code for one in range(LIMIT)]
    assert set(statuses[:-1]) == {refused}
    answer = try_in(path, PASSWORD)
    assert (answer.status_code, answer["Retry-After"]) == (429, str(settings.LOCKOUT_MINUTES * 60))
    kind = "text/html" if path == "/login" else "application/json"
    assert answer["Content-Type"].startswith(kind)
    assert "wrong passwords" in answer.content.decode()
    # From elsewhere, and with another name, all is as it was.
    assert try_in(path, PASSWORD, address="192.0.2.2").status_code == let_in
    assert try_in(path, "datahub", username="datahub").status_code == let_in


@pytest.mark.parametrize(("path", "refused"), [("/login", 200), ("/logIn", 401)])
@pytest.mark.parametrize(
    "name", ["y" * 300, "jo\0", "jo\ud800", "", 7], ids=["long", "NUL", "surrogate", "none", "number"]
)
def test_a_name_that_nobody_can_have_is_refused_like_any_other(path, refused, name):
    if path == "/login" and name == "jo\ud800":
        name = "jo\ufffd"  # what a form makes of it
    statuses = {try_in(path, "wrong", username=name).status_code for _ in range(LIMIT - 1)}
    assert statuses <= {refused, 400, 401}


def test_both_ways_in_count_together():
    for one in range(LIMIT):
        try_in("/login" if one % 2 else "/logIn", "wrong")
    assert try_in("/login", PASSWORD).status_code == 429


def test_a_right_password_begins_anew():
    for _ in range(3):
        for one in range(LIMIT - 1):
            assert try_in("/login", f"wrong {one}").status_code == 200
        assert try_in("/login", PASSWORD).status_code == 302


def test_it_ends_by_itself(settings):
    for _ in range(LIMIT):
        try_in("/login", "wrong")
    assert try_in("/login", PASSWORD).status_code == 429
    attempt = AccessAttempt.objects.get()
    attempt.attempt_time -= timedelta(minutes=settings.LOCKOUT_MINUTES + 1)
    attempt.save()
    assert try_in("/login", PASSWORD).status_code == 302


def test_the_way_back_for_root():
    for _ in range(LIMIT):
        try_in("/login", "wrong", username="datahub")
    assert try_in("/login", "datahub", username="datahub").status_code == 429
    call_command("axes_reset_username", "datahub")
    assert try_in("/login", "datahub", username="datahub").status_code == 302


def test_no_password_is_kept():
    try_in("/login", "my secret word")
    try_in("/logIn", "my secret word")
    kept = [str(vars(attempt)) for attempt in AccessAttempt.objects.all()]
    assert kept
    assert not any("my secret word" in one for one in kept)


def test_none_is_locked_out_where_it_is_switched_off(settings):
    settings.AXES_ENABLED = False
    assert {try_in("/login", f"wrong {one}").status_code for one in range(LIMIT + 1)} == {200}
    assert try_in("/login", PASSWORD).status_code == 302
