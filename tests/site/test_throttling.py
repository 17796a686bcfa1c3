"""Who calls too often waits, in the form of the door; who does not is not delayed."""

import json
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client, RequestFactory
from redis.exceptions import RedisError

from authzsite import throttling
from authzsite.middleware import find_body_limit
from authzsite.throttling import RateLimiter, get_client_address, rate_limit_middleware


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_020.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def alone(settings):
    settings.REDIS_URL = ""


def site(settings, **limits):
    """The middleware over a site that takes everything, in a process that counts alone."""
    settings.REDIS_URL = ""
    none = {"CALLS_PER_TOKEN": 0, "CALLS_PER_ADDRESS": 0, "SIGN_INS_PER_ADDRESS": 0}
    for name, limit in (none | limits).items():
        setattr(settings, name, limit)
    return rate_limit_middleware(lambda _request: HttpResponse("passed"), Clock())


def call(handle, path="/api/v1/authorize", token="a", address="192.0.2.1", method="POST", **more):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = RequestFactory(headers=headers).generic(method, path, REMOTE_ADDR=address, **more)
    return handle(request)


def test_a_token_has_its_share_of_a_minute(settings):
    handle = site(settings, CALLS_PER_TOKEN=3)
    assert [call(handle).status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    assert call(handle, token="b").status_code == 200
    assert call(handle, address="192.0.2.2").status_code == 429
    refused = call(handle)
    assert 0 < int(refused["Retry-After"]) <= 60


@pytest.mark.parametrize("address", ["", "unix:", "/run/authzsite.sock"])
def test_a_connection_without_an_address_is_counted_like_any_other(settings, address):
    handle = site(settings, CALLS_PER_ADDRESS=1)
    assert [call(handle, address=address).status_code for _ in range(2)] == [200, 429]


def test_an_address_has_its_share_whatever_its_tokens(settings):
    handle = site(settings, CALLS_PER_ADDRESS=3)
    assert [call(handle, token=str(one)).status_code for one in range(5)] == [200, 200, 200, 429, 429]
    assert call(handle, token="", address="192.0.2.2").status_code == 200
    ours = [call(handle, address=f"2001:db8:0:1::{one:x}").status_code for one in range(1, 5)]
    assert ours == [200, 200, 200, 429]
    assert call(handle, address="2001:db8:0:2::1").status_code == 200


def test_nothing_is_counted_where_no_limit_is_set(settings):
    handle = site(settings)
    assert {call(handle).status_code for _ in range(50)} == {200}


def test_pages_and_health_are_not_doors_for_programs(settings):
    handle = site(settings, CALLS_PER_ADDRESS=1)
    for path in ("/catalog", "/health/ready", "/metrics", "/static/x.css", "/config", "/settings/users"):
        assert {call(handle, path, method="GET").status_code for _ in range(3)} == {200}


def test_attempts_to_sign_in_are_few(settings):
    handle = site(settings, SIGN_INS_PER_ADDRESS=2)
    tried = [call(handle, path, token="").status_code for path in ("/login", "/logIn", "/reset", "/signUp/")]
    assert tried == [200, 200, 429, 429]
    assert call(handle, "/login", token="", method="GET").status_code == 200


@pytest.mark.parametrize(
    ("path", "kind", "told"),
    [
        ("/scim/v2/Users", "application/scim+json", lambda body: body["status"] == "429" and body["schemas"]),
        ("/api/graphql", "application/json", lambda body: body["errors"][0]["extensions"]["code"] == 429),
        ("/api/v1/users/", "application/problem+json", lambda body: body["code"] == "too_many_requests"),
        ("/aspects", "application/json", lambda body: body["message"] and body["exceptionClass"]),
        ("/openapi/v3/entity/dataset", "application/json", lambda body: body["status"] == 429),
    ],
)
def test_each_door_refuses_in_its_form(settings, path, kind, told):
    handle = site(settings, CALLS_PER_TOKEN=1)
    call(handle, path)
    answer = call(handle, path)
    assert (answer.status_code, answer["Content-Type"]) == (429, kind)
    assert told(json.loads(answer.content))
    assert int(answer["Retry-After"]) >= 1


def test_authzen_refuses_with_text(settings):
    handle = site(settings, CALLS_PER_TOKEN=1)
    call(handle, "/access/v1/evaluation")
    assert call(handle, "/access/v1/evaluation")["Content-Type"].startswith("text/plain")


def test_a_minute_later_all_begins_anew(alone):
    clock = Clock()
    meter = RateLimiter("test", 2, clock)
    assert [meter.count_call(b"a") for _ in range(3)] == [0, 0, 60 - 1_000_020 % 60]
    clock.now += 60
    assert meter.count_call(b"a") == 0


def test_a_process_tells_so_many_callers_apart(alone, monkeypatch):
    monkeypatch.setattr(throttling, "MAX_CALLERS", 2)
    meter = RateLimiter("test", 1, Clock())
    assert [meter.count_call(one) for one in (b"a", b"b", b"c", b"c", b"a")] == [0, 0, 0, 0, meter.count_call(b"a")]


@pytest.fixture
def shared(settings):
    """Two processes with a number that both see, and how often they asked for it."""
    settings.REDIS_URL = "redis://nowhere"
    kept: dict[str, int] = {}
    asked: list[str] = []

    def add(key, value, timeout):
        kept.setdefault(key, value)

    def incr(key, by):
        asked.append(key)
        kept[key] += by
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttling, "cache", SimpleNamespace(add=add, incr=incr))
        yield [RateLimiter("test", 100, Clock()) for _ in range(2)], asked


def test_processes_count_together_and_ask_seldom(shared):
    (one, other), asked = shared
    passed = sum(meter.count_call(b"a") == 0 for _ in range(100) for meter in (one, other))
    assert 100 <= passed <= 100 + 2 * 2
    assert len(asked) <= 200 / 2


def test_a_process_counts_alone_while_redis_is_away(settings, monkeypatch):
    settings.REDIS_URL = "redis://nowhere"
    asked = []

    def away(*_args, **_more):
        asked.append(1)
        raise RedisError

    monkeypatch.setattr(throttling, "cache", SimpleNamespace(add=away, incr=away))
    clock = Clock()
    meter = RateLimiter("test", 100, clock)
    waits = [meter.count_call(b"a") for _ in range(150)]
    assert waits.count(0) == 100
    assert len(asked) == 1


def test_the_cache_of_an_installation_counts(settings):
    if not settings.REDIS_URL:
        pytest.skip("Without Redis a process counts alone.")
    cache.clear()
    meters = [RateLimiter("real", 10, Clock()) for _ in range(2)]
    assert sum(meter.count_call(b"a") == 0 for _ in range(10) for meter in meters) == 10


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "198.51.100.7", "192.0.2.1"),
        (1, "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        (2, "203.0.113.9, 198.51.100.7", "203.0.113.9"),
        (2, "198.51.100.7", "192.0.2.1"),
        (1, "", "::"),
        (1, "nonsense", "::"),
    ],
)
def test_only_trusted_proxies_say_who_called_them(settings, proxies, forwarded, address):
    settings.PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert get_client_address(request) == address


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/login", 64 * 1024),
        ("/signUp/", 64 * 1024),
        ("/api/v1/authorize", 64 * 1024),
        ("/api/v1/authorize/", 64 * 1024),
        ("/api/v1/users/", 64 * 1024),
        ("/api/v1/authorize/batch", 4 * 1024 * 1024),
        ("/api/v1/policies/validate/", 2 * 1024 * 1024),
        ("/api/graphql", 1024 * 1024),
        ("/access/v1/evaluations", 1024 * 1024),
        ("/scim/v2/Users", 256 * 1024),
        ("/scim/v2/Groups/1", 4 * 1024 * 1024),
        ("/aspects", 16 * 1024 * 1024),
        ("/openapi/v3/entity/dataset", 16 * 1024 * 1024),
        ("/openapi/v1/trace/write/x", 64 * 1024),
        ("/settings/permissions/policies/import", 16 * 1024 * 1024),
        ("/settings/permissions/policies/new", 2 * 1024 * 1024),
    ],
)
def test_bodies_have_the_limit_of_their_path(path, most):
    assert find_body_limit(path) == most
    answer = Client().post(path, b" " * (most + 1), content_type="application/json")
    assert answer.status_code == 413
    assert f"{most:,} bytes" in answer.content.decode()


def test_no_body_may_be_larger_than_django_takes(settings):
    assert max(settings.BODY_LIMITS.values()) == settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert min(settings.BODY_LIMITS.values()) == settings.BODY_LIMIT


@pytest.mark.parametrize(
    "path", ["/api/v1/authorize", "/aspects", "/scim/v2/Users", "/api/graphql", "/access/v1/evaluation"]
)
def test_a_body_of_unknown_length_is_refused_instead_of_read_as_empty(path):
    answer = Client().generic(
        "POST", path, b"", content_type="application/json", CONTENT_LENGTH="", HTTP_TRANSFER_ENCODING="chunked"
    )
    assert answer.status_code == 411


FORMS = {
    "/api/v1/nothing": ("application/problem+json", {"type", "title", "status", "detail", "code"}),
    "/api/graphql/nothing": ("application/json", {"errors"}),
    "/aspects/nothing": ("application/json", {"status", "message", "exceptionClass"}),
    "/openapi/v3/nothing": ("application/json", {"status", "message", "exceptionClass"}),
    "/runs/nothing": ("application/json", {"status", "message", "exceptionClass"}),
    "/access/v1/nothing": ("text/plain", set()),
    "/scim/v2/Nothing": ("application/scim+json", {"schemas", "status", "detail"}),
    "/scim/v3": ("application/scim+json", {"schemas", "status", "detail"}),
}


@pytest.mark.django_db
@pytest.mark.parametrize("path", FORMS)
def test_a_path_that_nothing_is_at_is_refused_in_the_form_of_its_door(path):
    answer = Client().get(path)
    kind, members = FORMS[path]
    assert answer.status_code in (401, 404)
    assert answer["Content-Type"].startswith(kind)
    if members:
        assert answer.json().keys() >= members
