"""The SCIM compliance checks of scim2-tester, run by the command line that carries them."""

from collections import Counter

import pytest

from tests.clients.packages import Package

#: The command of the package, which its environment has no other name for.
COMMAND = "import sys; from scim2_cli import cli; sys.argv[0] = 'scim'; cli()"

#: Makes an account that manages users and groups and nothing else, and prints its URN.
ACCOUNT = """
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import service_accounts
from policies.pdp import authorizer
account = service_accounts.create(display_name="Provider", by=authorizer.SYSTEM, channel="test")
document = {"displayName": "Provisioning", "description": "", "type": "PLATFORM", "state": "ACTIVE",
            "privileges": ["MANAGE_USERS_AND_GROUPS"], "actors": {"users": [account.urn]}}
policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test")
print(account.urn)
"""


@pytest.fixture(scope="module")
def scim():
    package = Package("scim2-cli", "0.6.0")
    package.provide()
    return package


@pytest.fixture(scope="module")
def token(site):
    return site.token_for(site.manage("shell", "--verbosity", "0", "-c", ACCOUNT).split()[-1])


@pytest.fixture
def command(scim, site, token, tmp_path):
    def run(*arguments):
        options = ("-u", f"{site.address}/scim/v2", "-h", f"Authorization: Bearer {token}")
        return scim.run("-c", COMMAND, *options, *arguments, site=None, home=tmp_path)

    return run


def test_every_check_passes(command):
    done = command("test")
    counted = Counter(line.split()[0] for line in done.stdout.splitlines() if line[:1].isupper())
    assert done.returncode == 0, done.stdout + done.stderr
    # The first line says what is being checked.
    assert (counted.pop("Performing"), set(counted)) == (1, {"SUCCESS"})
    assert counted["SUCCESS"] >= 117
