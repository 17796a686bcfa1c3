"""Pages of what is managed as code: they name its source, and do not edit it."""

from catalog.models import ManagedAssertion
from catalog.reports.services import assertions
from policies.guardrails.services import guardrails
from policies.identity.services import roles
from policies.models import Guardrail, Policy, Role
from policies.pdp import authorizer
from policies.writes import managed_rows
from tests.web.conftest import DOOR
from tests.web.policies.writing import BASE

SOURCE = "https://git.example.com/access"


def test_a_managed_policy_is_shown_with_its_source_and_not_edited(browse, world, write):
    policy = write("managed")
    page = f"{BASE}/{policy.urn}"
    assert f"{BASE}/edit/{policy.urn}" in browse("root").get(page).content.decode()
    managed_rows.mark_rows(Policy, [policy.urn], source=SOURCE)
    text = browse("root").get(page).content.decode()
    assert f'<a href="{SOURCE}"' in text
    assert f"{BASE}/edit/{policy.urn}" not in text
    assert ">Delete" not in text
    assert ">Deactivate" not in text
    assert browse("root").get(f"{BASE}/edit/{policy.urn}").status_code == 409


def test_a_managed_role_is_shown_with_its_source_and_not_edited(browse, world):
    urn = roles.create(name="managed", by=authorizer.SYSTEM, channel=DOOR).urn
    managed_rows.mark_rows(Role, [urn], source=SOURCE)
    page = f"/settings/permissions/roles/{urn}"
    text = browse("root").get(page).content.decode()
    assert f'<a href="{SOURCE}"' in text
    assert f"{page}/edit" not in text
    assert "Managed" in browse("root").get("/settings/permissions/roles").content.decode()


def test_a_managed_guardrail_is_shown_with_its_source_and_not_edited(browse, world):
    rule = {"no_policy": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY_TAGS"]}}
    urn = guardrails.create(name="managed", rule=rule, by=authorizer.SYSTEM, channel=DOOR).urn
    managed_rows.mark_rows(Guardrail, [urn], source=SOURCE)
    base = "/settings/permissions/guardrails"
    root = browse("root")
    text = root.get(f"{base}/{urn}").content.decode()
    assert f'<a href="{SOURCE}"' in text
    assert f"{base}/edit/{urn}" not in text
    assert "Managed" in root.get(base).content.decode()
    assert root.get(f"{base}/edit/{urn}").status_code == 409
    assert root.post(f"{base}/delete/{urn}").status_code == 409
    assert Guardrail.objects.filter(urn=urn).exists()


def test_managed_assertions_are_named_with_their_source_and_not_edited(browse, world):
    text = "- name: Nobody edits\n  nobody: {may: EDIT_ENTITY}\n"
    assertions.save(text=text, expected_version=0, by=authorizer.SYSTEM)
    ManagedAssertion.objects.create(name="Nobody edits", is_managed=True, source=SOURCE)
    page = browse("root").get("/reports/assertions").content.decode()
    assert "Managed as code" in page
    assert f'<a href="{SOURCE}"' in page
    refused = browse("root").post("/reports/assertions", {"text": "", "seen": "1"})
    assert refused.status_code == 409
    assert SOURCE in refused.content.decode()
    noted = browse("root").post("/reports/assertions", {"text": f"# Noted.\n{text}", "seen": "1"})
    assert noted.status_code == 302
