"""The checks of an installation and of a document tell a deny, and whom it excepts, from a grant."""

import pytest

from policies.authoring.services import policies, policy_drafts, references
from policies.engine import families
from policies.engine.families import datahub
from policies.engine.model import StatementOrigin
from policies.pdp import self_checks, snapshot_store
from tests.policies.conftest import DOOR

ADMIN = "urn:li:dataHubRole:Boss"


def document(**more):
    criterion = {"field": "DOMAIN", "values": ["urn:li:domain:d"], "condition": "EQUALS"}
    return {
        "displayName": "P",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {"allUsers": True},
        "resources": {"filter": {"criteria": [criterion]}},
    } | more


@pytest.mark.parametrize(("effect", "count"), [("ALLOW", 1), ("DENY", 0)])
def test_a_deny_of_views_lets_nobody_view_by_domain(system, effect, count):
    draft = policy_drafts.PolicyInput("datahub", document(effect=effect))
    policies.create(draft=draft, by=system, channel=DOOR)
    snapshot_store.reset()
    (check,) = [check for check in self_checks.run() if check.name == "view_by_domain"]
    assert check.count == count


@pytest.mark.parametrize(("excluded", "problems"), [({}, 1), ({"excludedUsers": ["urn:li:corpuser:root"]}, 0)])
def test_a_deny_of_everything_locks_a_role_out_unless_it_excepts_somebody(system, excluded, problems):
    family = families.get("datahub")
    everything = document(privileges=sorted(family.load_vocabulary().names), resources=None)
    allowing = policy_drafts.PolicyInput("datahub", everything | {"actors": {"roles": [ADMIN]}})
    policies.create(draft=allowing, by=system, channel=DOOR)
    snapshot_store.reset()
    denying = everything | {"actors": {"roles": [ADMIN]} | excluded, "effect": "DENY"}
    statements = datahub.compile(denying, StatementOrigin("", ""))
    assert len(references.find_lockouts(family=family, statements=statements)) == problems
