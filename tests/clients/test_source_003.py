"""The examples of DataHub's page about external roles, unchanged, by the real package and by curl."""

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent / "source_003"
ROLE = "urn:li:role:snowflake_reader_role"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics_db.public.user_events,PROD)"


def example(name: str) -> str:
    return str(EXAMPLES / name)


def test_the_examples_are_as_they_were_published():
    sums = dict(re.findall(r"^    ([0-9a-f]{64})  (\S+)$", (EXAMPLES / "ORIGIN.md").read_text(), re.MULTILINE))
    found = {}
    for path in EXAMPLES.glob("*.txt"):
        flat = "\n".join(line.lstrip() for line in path.read_text().removesuffix("\n").split("\n"))
        found[hashlib.sha256(flat.encode()).hexdigest()] = path.name
    assert found == sums


def test_with_an_address_and_a_token(datahub, site, tmp_path):
    made = datahub.run(example("role_create.py.txt"), site=site, home=tmp_path)
    assert (made.returncode, made.stdout) == (0, f"Created role: {ROLE}\n"), made.stderr
    read = datahub.run(example("role_query.py.txt"), site=site, home=tmp_path)
    assert read.returncode == 0, read.stderr
    assert read.stdout.splitlines()[:5] == [
        f"Role URN: {ROLE}",
        "Name: Snowflake Reader Role",
        "Description: Provides read-only access to analytics datasets in Snowflake",
        "Type: READ",
        "Request URL: https://mycompany.okta.com/access/request/snowflake-reader",
    ]


@pytest.mark.parametrize("name", ["role_assign_actors.py.txt", "role_assign_to_dataset.py.txt"])
def test_without_a_token_where_one_is_needed(datahub, site, tmp_path, name):
    """The example names its address itself; it is pointed at the site that asks for tokens."""
    text = Path(example(name)).read_text().replace("http://localhost:8080", site.address)
    done = datahub.run("-c", text, site=None, home=tmp_path)
    assert done.returncode != 0
    assert "401" in done.stderr or "Send Authorization: Bearer" in done.stderr


def test_at_the_usual_address_without_tokens(datahub, open_site, tmp_path):
    for name, said in {
        "role_create.py.txt": f"Created role: {ROLE}",
        "role_assign_actors.py.txt": f"Assigned users and groups to role: {ROLE}",
        "role_assign_to_dataset.py.txt": f"Associated roles with dataset: {DATASET}",
    }.items():
        done = datahub.run(example(name), site=None, home=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"{said}\n"), done.stderr
    read = datahub.run(example("role_query.py.txt"), site=None, home=tmp_path)
    assert read.stdout.splitlines()[5:] == [
        "Users: ['urn:li:corpuser:john.doe', 'urn:li:corpuser:jane.smith']",
        "Groups: ['urn:li:corpGroup:data-analysts', 'urn:li:corpGroup:business-intelligence']",
    ]


@pytest.fixture
def written(datahub, open_site, tmp_path):
    for name in ("role_create.py.txt", "role_assign_actors.py.txt"):
        assert datahub.run(example(name), site=None, home=tmp_path).returncode == 0


def curl(name: str) -> object:
    done = subprocess.run(["sh", example(name)], capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_curl_reads_the_role(written):
    found = curl("get_role.sh.txt")
    assert isinstance(found, dict)
    assert found["urn"] == ROLE
    assert found["aspects"].keys() >= {"roleKey", "roleProperties", "actors"}


def test_curl_finds_the_role(written):
    assert curl("search_roles.sh.txt") == {
        "value": {"from": 0, "pageSize": 10, "numEntities": 1, "entities": [{"entity": ROLE}]}
    }
