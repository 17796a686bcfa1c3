"""A disk without room: every door says so, nothing is half stored, and reads go on."""

import errno
import json
import os
import pwd
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, InternalError, OperationalError, ProgrammingError, connection
from django.test import Client

from policies import bootstrap
from policies.identity.services import access_tokens
from policies.models import Policy, User
from policies.models.people import USER_PREFIX
from policies.outages import STORAGE_FULL, UNAVAILABLE, find_outage
from policies.pdp import authorizer, snapshot_store

ROOT = f"{USER_PREFIX}datahub"
#: The tables that every write of the doors below adds a row to.
RECORDS = ("policies_policyevent", "policies_changeevent")
SENTENCE = "There is no room left on the disk"
#: More than find room in pages that were begun.
MOST_USERS = 200

#: Long, and so that it cannot be packed.
TEXT = secrets.token_hex(10_000)
POLICY = {
    "displayName": "Large",
    "description": TEXT,
    "type": "PLATFORM",
    "state": "ACTIVE",
    "privileges": ["MANAGE_TAGS"],
    "actors": {"allUsers": True},
}
TAGS = {
    "entityType": "tag",
    "entityUrn": "urn:li:tag:large",
    "changeType": "UPSERT",
    "aspectName": "tagProperties",
    "aspect": {"contentType": "application/json", "value": json.dumps({"name": "Large", "description": TEXT})},
}
CREATE_TAG_POLICY = """
    mutation create($input: PolicyUpdateInput!) { createPolicy(input: $input) }
"""


@contextmanager
def full_sqlite() -> Iterator[None]:
    """A file that may not grow, without free pages in it."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA freelist_count")
        (free,) = cursor.fetchone()
        cursor.execute("CREATE TABLE filler (content BLOB)")
        cursor.execute("INSERT INTO filler VALUES (zeroblob(%s))", [free * 4096])
        cursor.execute("PRAGMA page_count")
        (count,) = cursor.fetchone()
        cursor.execute(f"PRAGMA max_page_count = {count}")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1073741823")
            cursor.execute("DROP TABLE filler")


@contextmanager
def full_postgresql(folder: Path) -> Iterator[None]:
    """The tables of records on a file system of their own, which is full."""
    if os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("Only root mounts a small file system.")
    with connection.cursor() as cursor:
        for table in RECORDS:
            # What tests before have deleted takes room, too, and stays while any transaction could still see it.
            cursor.execute(f"VACUUM FULL {table}")
        cursor.execute("SELECT sum(pg_total_relation_size(name)) FROM unnest(%s::regclass[]) name", [list(RECORDS)])
        size = int(cursor.fetchone()[0]) // 1024 + 512
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", folder], check=False).returncode:
        pytest.skip("This machine lets nobody mount.")
    with connection.cursor() as cursor, ExitStack() as stack:
        stack.callback(lambda: subprocess.run(["umount", folder], check=True))
        owner, space = pwd.getpwnam("postgres"), folder.name.replace("-", "_")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        cursor.execute(f"CREATE TABLESPACE {space} LOCATION '{folder}'")
        stack.callback(cursor.execute, f"DROP TABLESPACE {space}")
        for table in RECORDS:
            # The server, which comes by when it likes, gives back what it takes for dead.
            options = ("autovacuum_enabled", "toast.autovacuum_enabled")
            cursor.execute(f"ALTER TABLE {table} SET ({', '.join(f'{option} = off' for option in options)})")
            stack.callback(cursor.execute, f"ALTER TABLE {table} RESET ({', '.join(options)})")
            cursor.execute(f"ALTER TABLE {table} SET TABLESPACE {space}")
            stack.callback(cursor.execute, f"ALTER TABLE {table} SET TABLESPACE pg_default")
        for table in RECORDS:
            cursor.execute(_filling(table))
        yield


def _filling(table: str) -> str:
    """Return the statement that adds rows to a table of records, one by one, until there is no room.

    A statement of many rows that fails would leave dead ones behind, whose room comes back at any time.
    """
    own = {
        "policies_policyevent": ("policy_urn, family, version, policy_version", "'', '', 1, 1"),
        "policies_changeevent": ("object_urn, change_set_id", "'', (SELECT min(id) FROM policies_changeset)"),
    }
    names, values = own[table]
    return f"""
        DO $$ BEGIN
            LOOP
                BEGIN
                    INSERT INTO {table} (name, verb, by, at, door, {names})
                    SELECT '', 'CREATED', '', now(), '', {values};
                EXCEPTION WHEN disk_full THEN EXIT;
                END;
            END LOOP;
        END $$
    """


@pytest.fixture
def full_disk(transactional_db: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An installation whose database has no room left."""
    bootstrap.run()
    snapshot_store.reset()
    folder = Path("/tmp") / f"authzsite-full-{secrets.token_hex(4)}"
    if connection.vendor != "postgresql":
        with full_sqlite():
            yield
        return
    # Where PostgreSQL's own user gets to, whoever runs the tests.
    folder.mkdir()
    try:
        with full_postgresql(folder):
            yield
    finally:
        folder.rmdir()


@pytest.fixture
def token(transactional_db: None) -> str:
    """A token of root."""
    bootstrap.run()
    return access_tokens.create(owner=ROOT, name="full", by=authorizer.SYSTEM, channel="test").text


def caller(token: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)


Send = Callable[[Client], Any]


def send_policy(client: Client) -> Any:
    return client.post("/api/v1/policies/", {"family": "datahub", "document": POLICY}, "application/json")


def send_proposal(client: Client) -> Any:
    return client.post("/aspects?action=ingestProposal", {"proposal": TAGS}, "application/json")


def send_mutation(client: Client) -> Any:
    actors = {"allUsers": True, "allGroups": False, "resourceOwners": False}
    given = {**POLICY, "name": POLICY["displayName"], "actors": actors}
    del given["displayName"]
    body = {"query": CREATE_TAG_POLICY, "variables": {"input": given}}
    return client.post("/api/graphql", body, "application/json")


def send_user(client: Client) -> Any:
    """Create users until one is refused: each is small, and the last pages have room for some."""
    for number in range(MOST_USERS):
        name = f"large-{number}"
        body = {"schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"], "userName": name}
        answer = client.post("/scim/v2/Users", json.dumps(body), "application/scim+json")
        if answer.status_code != 201:
            assert not User.objects.filter(username=name).exists()
            return answer
    raise AssertionError("There was room for everybody.")


def is_in_a_problem(answer: Any) -> bool:
    return bool(answer.json()["code"] == "storage_full" and SENTENCE in answer.json()["detail"])


def is_in_a_message(answer: Any) -> bool:
    return SENTENCE in answer.json()["message"]


def is_in_errors(answer: Any) -> bool:
    (error,) = answer.json()["errors"]
    return SENTENCE in error["message"] and error["extensions"]["code"] == 507


def is_in_a_scim_error(answer: Any) -> bool:
    return bool(answer.json()["status"] == "507" and SENTENCE in answer.json()["detail"])


@pytest.mark.parametrize(
    ("send", "status", "says"),
    [
        (send_policy, 507, is_in_a_problem),
        (send_proposal, 507, is_in_a_message),
        (send_mutation, 200, is_in_errors),
        (send_user, 507, is_in_a_scim_error),
    ],
)
def test_every_door_says_that_there_is_no_room(
    token: str, full_disk: None, send: Send, status: int, says: Callable[[Any], bool]
) -> None:
    client = caller(token)
    policies = Policy.objects.count()
    answer = send(client)
    assert answer.status_code == status, answer.content
    assert says(answer)
    # Nothing is stored, and whoever reads is answered.
    assert Policy.objects.count() == policies
    asked = client.post("/api/v1/authorize", {"privilege": "MANAGE_POLICIES"}, "application/json")
    assert asked.json()["decision"] == "ALLOW"


def test_a_page_says_that_there_is_no_room(token: str, full_disk: None) -> None:
    client = caller(token)
    client.force_login(User.objects.get(urn=ROOT))
    group = {"name": "Large", "identifier": "large", "description": TEXT}
    answer = client.post("/settings/identities/groups/new", group)
    assert answer.status_code == 507, answer.content
    assert SENTENCE in answer.content.decode()


def test_a_failure_is_known_by_its_cause() -> None:
    full = OperationalError("could not extend file")
    full.__cause__ = psycopg.errors.DiskFull("could not extend file")
    assert find_outage(full) == STORAGE_FULL
    assert find_outage(OSError(errno.ENOSPC, "No space left on device")) == STORAGE_FULL
    assert find_outage(OSError(errno.EPIPE, "Broken pipe")) is None
    assert find_outage(OperationalError("database is locked")) == UNAVAILABLE
    assert find_outage(ValueError()) is None
    # A server that is gone in the middle of an answer, and one that has become a standby.
    lost = DatabaseError("server closed the connection unexpectedly")
    lost.__cause__ = psycopg.DatabaseError("server closed the connection unexpectedly")
    assert find_outage(lost) == UNAVAILABLE
    # Closing the cursor of a long query raises what the driver does.
    assert find_outage(psycopg.errors.AdminShutdown("terminating connection")) == UNAVAILABLE
    standby = InternalError("cannot execute INSERT in a read-only transaction")
    standby.__cause__ = psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT in a read-only transaction")
    assert find_outage(standby) == UNAVAILABLE
    wrong = ProgrammingError("the query has 1 placeholder but 2 parameters were passed")
    wrong.__cause__ = psycopg.ProgrammingError("the query has 1 placeholder but 2 parameters were passed")
    assert find_outage(wrong) is None
