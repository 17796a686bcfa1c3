"""Backup and restore as docs/operations.md says, walked with PostgreSQL's own programs."""

import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import servers

from tests.clients import installations
from tests.faults import worlds
from tests.faults.sites import Caller, Site


def answers(caller: Caller) -> list[Any]:
    """Return what a site says to everything that is asked here, the version of the policies included."""
    questions = [
        {"actor": actor, "privilege": privilege, "resource": {"urn": urn}} for actor, privilege, urn in worlds.QUESTIONS
    ]
    body = caller.call("POST", "/api/v1/authorize/batch", {"questions": questions}).body
    return [body["policy_version"], [one["decision"] for one in body["decisions"]]]


def test_what_was_dumped_is_a_whole_installation_again(site: Site, tmp_path: Path) -> None:
    site.settle()
    programs = servers.postgres_folder()
    assert programs
    dump = tmp_path / "authzsite.dump"
    address = site.database.address
    subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", address], check=True)
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("CREATE DATABASE restored TEMPLATE template0")
    restored = f"{address.rpartition('/')[0]}/restored"
    options = ["--no-owner", "--exit-on-error", f"--dbname={restored}"]
    subprocess.run([programs / "pg_restore", *options, str(dump)], check=True)
    environment = site.environment | {"DATABASE_URL": restored}
    # A release brings its migrations; of the same release there are none.
    installations.manage(environment, "migrate", "--check")
    with (
        installations.serving(environment, log=tmp_path / "web.log") as web,
        closing(Caller(web, site.token)) as caller,
    ):
        assert caller.call("GET", "/health/ready").status == 200
        with site.calling() as original:
            assert answers(caller) == answers(original)
