"""Guardrails in the preview: the verdict on each after the changes is that of the writes themselves."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles, users
from policies.models import Guardrail, Policy
from policies.pdp import authorizer
from tests.api.conftest import document_of
from tests.api.test_preview import CREW, JO, NEW, OLD, PREVIEW, READER, put

ADA, RUTH = "urn:li:corpuser:ada", "urn:li:corpuser:ruth"
RAIL = "urn:li:guardrail:rail"
OF_DATASETS = {"field": "TYPE", "values": ["dataset"]}
PII = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}, OF_DATASETS]}}
NOBODY_BUT_ADA = {
    "never": {
        "actors": {"everybody_except": {"users": [ADA]}},
        "privileges": ["DELETE_ENTITY"],
        "resources": PII,
    }
}
TWO_MANAGERS = {"at_least": {"number": 2, "privileges": ["MANAGE_TAGS"]}}
RUTH_ALWAYS = {"always": {"actors": {"users": [RUTH]}, "privileges": ["MANAGE_TAGS"]}}
NOT_BOTH = {"not_both": {"first": {"privileges": ["MANAGE_TAGS"]}, "second": {"privileges": ["MANAGE_INGESTION"]}}}


@pytest.fixture(autouse=True)
def _world(client_of: Callable[..., APIClient], db: None) -> None:
    """Ada and Ruth manage tags, as holders of Reader; whoever is in the crew may delete; Max is suspended."""
    for name in ("jo", "ada", "ruth", "max"):
        client_of(name)
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel="test")
    roles.create(name="Reader", identifier="Reader", by=authorizer.SYSTEM, channel="test")
    roles.grant(urn=READER, actors=[ADA, RUTH], by=authorizer.SYSTEM, channel="test")
    store(OLD, deleting(groups=[CREW]))
    store(f"{OLD}-tags", platform("MANAGE_TAGS", roles=[READER]))
    store(f"{OLD}-deny", deleting(groups=[CREW]) | {"effect": "DENY", "resources": PII})
    users.suspend(urn="urn:li:corpuser:max", by=authorizer.SYSTEM, channel="test")


@pytest.fixture
def admin(client_of: Callable[..., APIClient]) -> APIClient:
    """Somebody who keeps guardrails besides policies and people."""
    return client_of("admin", "MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS", "MANAGE_GUARDRAILS")


def deleting(**actors: Any) -> dict[str, Any]:
    return document_of(privileges=["DELETE_ENTITY"], actors=actors, resources={})


def platform(privilege: str, **actors: Any) -> dict[str, Any]:
    return document_of(type="PLATFORM", privileges=[privilege], actors=actors)


def store(urn: str, document: dict[str, Any]) -> None:
    policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test", urn=urn)


def guard(rule: dict[str, Any], **fields: Any) -> None:
    guardrails.create(name="Rail", rule=rule, urn=RAIL, by=authorizer.SYSTEM, channel="test", **fields)


def find_verdict(client: APIClient, *changes: dict[str, Any]) -> dict[str, Any]:
    response = client.post(PREVIEW, {"changes": list(changes)})
    assert response.status_code == 200, response.content
    verdict: dict[str, Any] = next(item for item in response.json()["guardrails"] if item["urn"] == RAIL)
    return verdict


def write(client: APIClient, change: dict[str, Any]) -> int:
    """Make a change by the call that makes it, and return the status of the answer."""
    ((kind, value),) = change.items()
    match kind:
        case "put_policy":
            return client.post("/api/v1/policies/", value, format="json").status_code
        case "delete_policy":
            return client.delete(f"/api/v1/policies/{value}/").status_code
        case "add_members":
            body = {"members": value["members"]}
            return client.post(f"/api/v1/groups/{value['group']}/members/", body, format="json").status_code
        case "assign_roles":
            body = {"actors": value["actors"]}
            return client.post(f"/api/v1/roles/{value['role']}/actors/", body, format="json").status_code
        case "unassign_roles":
            return client.delete(f"/api/v1/roles/{value['role']}/actors/{value['actors'][0]}/").status_code
        case _:
            state = "SUSPENDED" if kind == "suspend" else "ACTIVE"
            return client.patch(f"/api/v1/users/{value}/", {"state": state}, format="json").status_code


@pytest.mark.parametrize(
    ("rule", "change", "is_broken"),
    [
        (NOBODY_BUT_ADA, put(deleting(users=[JO])), True),
        (NOBODY_BUT_ADA, put(deleting(users=[ADA])), False),
        (NOBODY_BUT_ADA, put(deleting(users=[JO]) | {"validFrom": "2099-01-01T00:00:00Z"}), True),
        (NOBODY_BUT_ADA, {"delete_policy": f"{OLD}-deny"}, False),
        (NOBODY_BUT_ADA, {"add_members": {"group": CREW, "members": [JO]}}, False),
        (TWO_MANAGERS, {"unassign_roles": {"role": READER, "actors": [ADA]}}, True),
        (TWO_MANAGERS, {"suspend": RUTH}, True),
        (TWO_MANAGERS, {"delete_policy": f"{OLD}-tags"}, True),
        (TWO_MANAGERS, {"suspend": JO}, False),
        (RUTH_ALWAYS, {"unassign_roles": {"role": READER, "actors": [RUTH]}}, True),
        (RUTH_ALWAYS, {"suspend": RUTH}, True),
        (RUTH_ALWAYS, {"suspend": ADA}, False),
        (NOT_BOTH, put(platform("MANAGE_INGESTION", roles=[READER])), True),
        (NOT_BOTH, put(platform("MANAGE_INGESTION", users=[JO])), False),
        ({"no_policy": {"actors": {"allUsers": True}, "privileges": ["MANAGE_TAGS"]}},
         put(platform("MANAGE_TAGS", allUsers=True)), True),
    ],
)  # fmt: skip
def test_a_change_that_the_preview_calls_broken_is_refused_and_no_other(
    admin: APIClient, rule: dict[str, Any], change: dict[str, Any], *, is_broken: bool
) -> None:
    guard(rule)
    verdict = find_verdict(admin, change)
    assert (verdict["verdict"], verdict["is_added"]) == (("broken", True) if is_broken else ("holds", False))
    assert not Policy.objects.filter(urn=NEW).exists()
    assert Guardrail.objects.get(urn=RAIL).status == "holds"
    status = write(admin, change)
    assert status == 409 if is_broken else status < 300


LATER, LATEST = "2099-01-01T00:00:00+00:00", "2099-06-01T00:00:00+00:00"


def keep_until(instant: str | None) -> dict[str, Any]:
    """The change that lets the policy about tags end."""
    until = {} if instant is None else {"validUntil": instant}
    return put(platform("MANAGE_TAGS", roles=[READER]) | until, urn=f"{OLD}-tags")


@pytest.mark.parametrize("mode", ["enforce", "warn"])
@pytest.mark.parametrize("rule", [TWO_MANAGERS, RUTH_ALWAYS])
def test_a_preview_says_when_a_promise_will_be_broken(
    manager: APIClient, admin: APIClient, rule: dict[str, Any], mode: str
) -> None:
    guard(rule, mode=mode)
    assert find_verdict(admin, keep_until(None))["breaks_at"] is None
    # By this change, so it is told to who makes it, as the refusal does.
    verdict = find_verdict(manager, keep_until(LATER))
    assert (verdict["verdict"], verdict["is_added"], verdict["breaks_at"]) == ("broken", True, LATER)
    assert verdict["example"]["actor"]["urn"] in {ADA, RUTH}
    response = admin.put(
        f"/api/v1/policies/{OLD}-tags/", keep_until(LATER)["put_policy"] | {"urn": f"{OLD}-tags"}, format="json"
    )
    assert response.status_code == (409 if mode == "enforce" else 200)
    assert Guardrail.objects.get(urn=RAIL).breaks_at == (None if mode == "enforce" else LATER)
    if mode == "enforce":
        assert "from 1 Jan 2099, 00:00 UTC on" in response.json()["detail"]
        return
    # It was due before, and the change may mend or delay it.
    for change, breaks_at in (({"suspend": JO}, LATER), (keep_until(LATEST), LATEST), (keep_until(None), None)):
        verdict = find_verdict(admin, change)
        assert (verdict["verdict"], verdict["is_added"], verdict["breaks_at"]) == ("holds", False, breaks_at)
    # Nobody else learns of guardrails to which a change adds nothing.
    assert manager.post(PREVIEW, {"changes": [{"suspend": JO}]}).json()["guardrails"] == []


def test_people_are_judged_as_the_changes_leave_them(admin: APIClient) -> None:
    guard(NOBODY_BUT_ADA)
    both = ({"add_members": {"group": CREW, "members": [JO]}}, {"delete_policy": f"{OLD}-deny"})
    assert find_verdict(admin, *both)["is_added"]
    assert find_verdict(admin, *both)["example"]["actor"]["urn"] == JO
    # Whoever is activated is judged, too; the policy names somebody who may not sign in until then.
    put_max = put(deleting(users=["urn:li:corpuser:max"]))
    assert not find_verdict(admin, put_max)["is_added"]
    assert find_verdict(admin, put_max, {"activate": "urn:li:corpuser:max"})["is_added"]
    assert find_verdict(admin, {"delete_policy": f"{OLD}-deny"}, put_max, {"activate": "urn:li:corpuser:max"})[
        "is_added"
    ]


def test_a_gain_in_the_same_change_counts_for_a_number_of_people(admin: APIClient) -> None:
    guard(TWO_MANAGERS)
    swap = ({"suspend": RUTH}, {"assign_roles": {"role": READER, "actors": [JO]}})
    assert find_verdict(admin, *swap)["verdict"] == "holds"
    assert find_verdict(admin, *swap, {"suspend": JO})["verdict"] == "broken"


def test_a_broken_guardrail_is_mended_or_stays_broken(admin: APIClient) -> None:
    store(NEW, deleting(users=[JO]))
    guard(NOBODY_BUT_ADA)
    assert Guardrail.objects.get(urn=RAIL).status == "broken"
    stays = find_verdict(admin, {"suspend": RUTH})
    assert (stays["verdict"], stays["is_added"]) == ("broken", False)
    assert stays["example"]["actor"]["urn"] == JO
    mended = find_verdict(admin, {"delete_policy": NEW})
    assert (mended["verdict"], mended["is_added"], mended["example"]) == ("holds", False, None)


def test_names_are_told_to_those_who_would_learn_them_from_a_refusal(manager: APIClient, admin: APIClient) -> None:
    guard(NOBODY_BUT_ADA, mode="warn")
    assert manager.post(PREVIEW, {"changes": [put(deleting(users=[ADA]))]}).json()["guardrails"] == []
    assert find_verdict(admin, put(deleting(users=[ADA]))) == {
        "urn": RAIL,
        "name": "Rail",
        "mode": "warn",
        "sentence": "Nobody but ada may ever Delete on anything tagged urn:li:tag:PII of the type dataset.",
        "verdict": "holds",
        "is_added": False,
        "example": None,
        "breaks_at": None,
    }
    assert find_verdict(manager, put(deleting(users=[JO])))["name"] == "Rail"
    guardrails.update(urn=RAIL, mode="off", by=authorizer.SYSTEM, channel="test")
    assert RAIL not in str(manager.post(PREVIEW, {"changes": [{"suspend": JO}]}).json())


def test_the_built_in_guardrail_counts_who_can_sign_in(admin: APIClient) -> None:
    guardrails.ensure_built_in(by=authorizer.SYSTEM)
    admin_urn, policy = "urn:li:corpuser:admin", "urn:li:dataHubPolicy:of-admin"
    users.set_password(urn=admin_urn, password="a long and good word", by=authorizer.SYSTEM, channel="test")

    def find_lockout(*changes: dict[str, Any]) -> tuple[str, bool]:
        (verdict,) = admin.post(PREVIEW, {"changes": list(changes)}).json()["guardrails"]
        return verdict["verdict"], verdict["is_added"]

    assert find_lockout({"suspend": JO}) == ("holds", False)
    assert find_lockout({"delete_policy": policy}) == ("broken", True)
    assert find_lockout({"set_state": {"urn": policy, "state": "INACTIVE"}}) == ("broken", True)
    # Somebody without a password cannot sign in to mend anything.
    by_role = put(platform("MANAGE_POLICIES", roles=[READER]))
    assert find_lockout({"delete_policy": policy}, by_role) == ("broken", True)
    assign = {"assign_roles": {"role": READER, "actors": [admin_urn]}}
    assert find_lockout({"delete_policy": policy}, by_role, assign) == ("holds", False)
    assert find_lockout({"delete_policy": policy}, by_role, assign, {"suspend": admin_urn}) == ("broken", True)
    assert admin.delete(f"/api/v1/policies/{policy}/").status_code == 409
