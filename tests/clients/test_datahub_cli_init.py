"""How somebody begins with DataHub's command line: `init` with a token and with a password, and people made by it."""

import json

import pytest

from tests.clients.test_datahub_sdk import GRAPH

PASSWORD = "correct horse battery"

# What `init` wrote, and what its token is worth.
BEGUN = """
import json
from datahub.ingestion.graph.client import get_default_graph
from datahub.metadata.schema_classes import StatusClass
graph = get_default_graph()
me = graph.execute_graphql("query { me { corpUser { urn } } }")["me"]["corpUser"]["urn"]
print(json.dumps([graph.config.server, graph.config.token, me]))
"""


@pytest.fixture
def cli(datahub, tmp_path):
    """Run the `datahub` command for somebody who has nothing but a home."""

    def run(*arguments, typed="", site=None):
        return datahub.run("-m", "datahub", *arguments, site=site, home=tmp_path, typed=typed)

    return run


@pytest.fixture
def asks(datahub):
    """Whether this release asks for everything; later ones take options."""
    return datahub.version.startswith("1.3.")


@pytest.fixture
def begun(datahub, tmp_path):
    """What the file that `init` wrote leads to: the address, the token, and who one is."""

    def read():
        done = datahub.run("-c", BEGUN, site=None, home=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return read


def test_init_with_a_token(cli, asks, begun, site):
    if asks:
        done = cli("init", typed=f"{site.address}\n{site.token}\n")
    else:
        done = cli("init", "--host", site.address, "--token", site.token)
    assert done.returncode == 0, done.stdout + done.stderr
    assert begun() == [site.address, site.token, "urn:li:corpuser:datahub"]


def init_with_password(cli, asks, site, password):
    if asks:
        return cli("init", "--use-password", typed=f"{site.address}\ndatahub\n{password}\n")
    account = ("--username", "datahub", "--password", password, "--token-duration", "NO_EXPIRY")
    return cli("init", "--host", site.address, *account)


def test_init_with_a_password(cli, asks, begun, site):
    done = init_with_password(cli, asks, site, "datahub")
    assert done.returncode == 0, done.stdout + done.stderr
    address, token, me = begun()
    assert (address, me) == (site.address, "urn:li:corpuser:datahub")
    assert token.startswith("azs_")
    assert token != site.token


def test_init_with_a_wrong_password(cli, asks, site, tmp_path):
    done = init_with_password(cli, asks, site, "wrong")
    assert done.returncode != 0
    assert "401" in done.stdout + done.stderr
    assert not (tmp_path / ".datahubenv").exists()


def test_a_native_user_is_made_signs_in_and_holds_its_role(cli, datahub, site, tmp_path):
    name = f"nat-{datahub.version}@example.com"
    program = (
        GRAPH
        + f"""
from datahub.configuration.common import OperationalError
person = dict(user_id={name!r}, email={name!r}, display_name="Nat", password={PASSWORD!r}, role="editor")
urn = graph.create_native_user(**person)
told = [urn, graph.get_aspect(urn, RoleMembershipClass).roles, graph.get_aspect(urn, CorpUserInfoClass).email]
try:
    graph.create_native_user(**person)
except OperationalError as error:
    told.append(str(error))
print(json.dumps(told))
"""
    )
    urn, roles, email, again = datahub.program(program, site=site, home=tmp_path)
    assert (urn, roles, email) == (f"urn:li:corpuser:{name}", ["urn:li:dataHubRole:Editor"], name)
    assert "already exists" in again
    told = f"""
from datahub.cli.cli_utils import generate_access_token
print(json.dumps(generate_access_token({name!r}, {PASSWORD!r}, server)[1]))
"""
    token = datahub.program(GRAPH + told, site=site, home=tmp_path)
    assert token.startswith("azs_")


def test_a_user_is_added_by_the_command_line(cli, datahub, site):
    name = f"added-{datahub.version}"
    person = ("--id", name, "--email", f"{name}@example.com", "--display-name", "Added", "--role", "Reader")
    done = cli("user", "add", *person, "--password", typed=f"{PASSWORD}\n{PASSWORD}\n", site=site)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Successfully created user {name} with role Reader" in done.stdout
    again = cli("user", "add", *person, "--password", typed=f"{PASSWORD}\n{PASSWORD}\n", site=site)
    assert again.returncode != 0
    assert "already exists" in again.stdout


def test_a_weak_password_is_told(cli, datahub, site):
    name = f"weak-{datahub.version}"
    person = ("--id", name, "--email", f"{name}@example.com", "--display-name", "Weak")
    done = cli("user", "add", *person, "--password", typed="short\nshort\n", site=site)
    assert done.returncode != 0
    assert "/password" in done.stdout


READ = """
found = {urn: graph.get_entity_raw(urn)["aspects"] for urn in urns}
print(json.dumps({urn: {name: one["value"] for name, one in aspects.items()} for urn, aspects in found.items()}))
"""


def test_people_upserted_again_are_as_they_were(cli, datahub, site, tmp_path):
    mail, crew = f"up-{datahub.version}@example.com", f"crew-{datahub.version}"
    person = {"id": mail, "first_name": "Up", "last_name": "Sert", "email": mail, "groups": [crew], "slack": "@up"}
    group = {"id": crew, "display_name": "Crew", "description": "Sails", "members": [mail], "owners": [mail]}
    for kind, document in (("user", person), ("group", group)):
        (tmp_path / f"{kind}.yml").write_text(json.dumps(document))
    urns = [f"urn:li:corpuser:{mail}", f"urn:li:corpGroup:{crew}"]
    read = []
    for _ in range(2):
        for kind in ("user", "group"):
            done = cli(kind, "upsert", "-f", str(tmp_path / f"{kind}.yml"), "--override-editable", site=site)
            assert done.returncode == 0, done.stdout + done.stderr
        read.append(datahub.program(GRAPH + f"urns = {urns!r}" + READ, site=site, home=tmp_path))
        for aspects in read[-1].values():
            # Who wrote a status and when is all that may differ.
            aspects.pop("corpUserStatus", None)
    assert read[0] == read[1]
    user, crew_read = (read[0][urn] for urn in urns)
    assert user["corpUserEditableInfo"]["slack"] == "@up"
    assert user["groupMembership"] == {"groups": [urns[1]]}
    assert crew_read["corpGroupEditableInfo"]["description"] == "Sails"
    assert crew_read["ownership"]["owners"][0]["owner"] == urns[0]
