"""What is counted, who may scrape it, and several processes that count together."""

import subprocess
import sys

import pytest
from django.db import DatabaseError
from django.test import Client

from authzsite import metrics_endpoint, metrics_multiprocess
from policies.engine.model import Actor
from policies.engine.requirements import Requirement, privilege_requirement
from policies.identity.services import users
from policies.models import PolicyVersion
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest

# What asks the broker leaves files of its queue for the collector to close.
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]

NOBODY = Actor("urn:li:corpuser:nobody")

#: Counts once for its family and ends at once.
COUNTING = "from prometheus_client import Counter; Counter('tries', 'Tries.').inc()"


def numbers(client: Client, **headers: str) -> dict[str, float]:
    """Every sample of a scrape by its name and labels."""
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    lines = (line for line in answer.content.decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_decisions_are_counted_by_family_and_outcome(client):
    before = numbers(client)
    asks = [
        AccessRequest(privilege_requirement("MANAGE_POLICIES")),
        AccessRequest(privilege_requirement("dataset:read")),
        AccessRequest(privilege_requirement("READ")),
        AccessRequest(privilege_requirement("can_read_todos")),
    ]
    authorizer.answer_many(requests=[(NOBODY, ask) for ask in [*asks, asks[0], AccessRequest(Requirement(()))]])
    after = numbers(client)
    found = {
        (family, outcome): after[name] - before.get(name, 0)
        for family in ("datahub", "datazone", "cdap", "own", "none")
        for outcome in ("DENY", "UNKNOWN")
        if (name := f'authz_decisions_total{{family="{family}",outcome="{outcome}"}}') in after
    }
    refusals = {("datahub", "DENY"): 2, ("datazone", "DENY"): 1, ("cdap", "DENY"): 1, ("none", "DENY"): 1}
    assert {key: number for key, number in found.items() if number} == {**refusals, ("own", "UNKNOWN"): 1}


def test_the_snapshot_shows_version_size_and_when_it_was_compared(client):
    snapshot_store.reset()
    before = numbers(client)
    snapshot = snapshot_store.get_current()
    after = numbers(client)
    assert after["authz_snapshot_version"] == after["authz_policy_version"] == snapshot.version
    assert after["authz_snapshot_statements"] == len(snapshot.statements)
    assert after["authz_snapshot_compared_timestamp_seconds"] > before["authz_snapshot_compared_timestamp_seconds"]
    loads = 'authz_snapshot_load_seconds_count{kind="all"}'
    assert after[loads] == before.get(loads, 0) + 1
    assert (after["authz_database_up"], after["authz_broker_up"]) == (1, 1)


def test_requests_are_counted_by_route_and_status_and_never_by_address(client):
    client.get("/catalog/nothing-of-this-name-1")
    client.get("/health/live")
    client.post("/health/live")
    client.generic("BREW", "/health/live")
    found = {name for name in numbers(client) if name.startswith("authz_http_requests_total")}
    assert 'authz_http_requests_total{method="GET",route="/health/live",status="200"}' in found
    assert 'authz_http_requests_total{method="POST",route="/health/live",status="405"}' in found
    assert 'authz_http_requests_total{method="other",route="/health/live",status="405"}' in found
    assert not [name for name in found if "of-this-name" in name]


def test_a_question_is_timed(client):
    client.force_login(users.create(username="jo", by=authorizer.SYSTEM, channel="test"))
    before = numbers(client).get("authz_authorize_seconds_count", 0)
    asked = client.post("/api/v1/authorize", {"privilege": "MANAGE_POLICIES"}, content_type="application/json")
    assert asked.json()["decision"] == "DENY"
    assert numbers(client)["authz_authorize_seconds_count"] == before + 1


def test_a_database_that_is_away_is_a_number_and_no_error(client, monkeypatch):
    def away():
        raise DatabaseError

    monkeypatch.setattr(PolicyVersion, "load_version", away)
    found = numbers(client)
    assert found["authz_database_up"] == 0
    assert "authz_policy_version" not in found


def test_with_a_token_only_who_brings_it_may_scrape(client, settings):
    settings.METRICS_TOKEN = "count-me-in"
    assert numbers(client, authorization="Bearer count-me-in")
    for headers in ({}, {"authorization": "Bearer count-me-out"}, {"authorization": "Bearer é"}):
        answer = client.get("/metrics", headers=headers)
        assert (answer.status_code, answer["WWW-Authenticate"], answer.content) == (401, "Bearer", b"")


@pytest.mark.parametrize(
    "sent", [{"REMOTE_ADDR": "10.0.0.7"}, {"REMOTE_ADDR": ""}, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}, {"HTTP_VIA": "x"}]
)
def test_without_a_token_only_this_machine_may_and_no_proxy_on_it(client, sent):
    assert client.get("/metrics", **sent).status_code == 403
    assert client.get("/metrics", REMOTE_ADDR="::1").status_code == 200
    assert client.post("/metrics").status_code == 405


#: What a process does first that shares its numbers in a folder.
PREPARE = "import pathlib; from authzsite import metrics_multiprocess as m; m.prepare(pathlib.Path({!r}))"


def count(folder, code=COUNTING):
    """Let a process count in the folder as a web process does; it has ended when this returns."""
    program = f"{PREPARE.format(str(folder))}; {code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_first_process_begins_anew_and_the_others_add_to_it(tmp_path):
    reading = (
        "from prometheus_client import CollectorRegistry, multiprocess as m; r = CollectorRegistry(); "
        "m.MultiProcessCollector(r); print(r.get_sample_value('tries_total'), flush=True)"
    )
    count(tmp_path)
    assert len(metrics_multiprocess.list_ended_processes(tmp_path)) == 1
    # The first of a new start: what an earlier one left is gone. It stays until its input ends.
    waiting = (
        f"{PREPARE.format(str(tmp_path))}; {COUNTING}; import sys; "
        f"print('up', flush=True); sys.stdin.readline(); {reading}"
    )
    with subprocess.Popen(
        [sys.executable, "-c", waiting], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdin
        assert first.stdout
        assert first.stdout.readline() == "up\n"
        assert metrics_multiprocess.list_ended_processes(tmp_path) == ()
        count(tmp_path)
        count(tmp_path)
        assert len(metrics_multiprocess.list_ended_processes(tmp_path)) == 2
        first.stdin.write("go on\n")
        first.stdin.flush()
        assert first.stdout.readline() == "3.0\n"


def test_what_is_looked_up_has_no_labels_and_two_parts():
    names = [family.name for family in metrics_endpoint.InstallationCollector().collect()]
    assert names == ["authz_database_up", "authz_policy_version", "authz_broker_up", "authz_queue_length"]
