"""Guardrails at every door: what would break one is refused in the door's own form, or stored and reported.

People come to hold a privilege by the paths of bounded delegation; policies come to give it by every way to write one.
The caller may give everything, so that nothing but the guardrail is in the way.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Model

from catalog.models import Finding
from policies.authoring.services import policies, policy_drafts
from policies.errors import GuardrailBroken
from policies.guardrails import tasks
from policies.guardrails.services import guardrails
from policies.identity.services import external_sign_in, groups
from policies.identity.services.oidc_claims import ExternalIdentity
from policies.models import (
    ChangeEvent,
    GroupProfile,
    Guardrail,
    Membership,
    Policy,
    PolicyEvent,
    RoleAssignment,
    User,
)
from policies.pdp import authorizer, snapshot_store
from tests.doors import test_fixed_policies as fixed
from tests.doors import test_own_policy_fields as own_fields
from tests.doors.conftest import DOOR, Caller, proposal
from tests.doors.delegation.account_paths import ACCOUNT_PATHS
from tests.doors.delegation.calls import JSON, Calling, Path, has_passed, quote_urn
from tests.doors.delegation.group_paths import GROUP_PATHS
from tests.doors.delegation.world import GROUP, PLAIN, ROLE, USER, World, fill_world
from tests.doors.graphql.test_policies import CREATE, UPDATE
from tests.doors.test_delegation import ROLES_WITHOUT_MANAGE_POLICIES
from tests.doors.test_unknown_fields import POLICY

pytestmark = pytest.mark.django_db

HELD = "MANAGE_TAGS"
RULE_URN = "urn:li:guardrail:tags"

#: Nobody but these ever holds the privilege.
RULE = {
    "never": {
        "actors": {
            "everybody_except": {
                "users": [f"{USER}datahub", f"{USER}held-{HELD}", f"{USER}robot-{HELD}"],
                "roles": [f"{ROLE}Admin"],
            }
        },
        "privileges": [HELD],
    }
}

#: Paths that give nobody a privilege who does not hold it: credentials of an account, and invitations without a taker.
_CREDENTIALS = ("invitation", "InviteToken", "token", "Token", "password", "reset link")
PEOPLE_PATHS: dict[str, tuple[str, Path]] = {
    name: (form, call)
    for name, (_, form, call) in (GROUP_PATHS | ACCOUNT_PATHS).items()
    if not any(word in name for word in _CREDENTIALS)
} | {name: path for name, path in ROLES_WITHOUT_MANAGE_POLICIES.items() if name != "Django's admin"}


@pytest.fixture(scope="module")
def _made(_bootstrapped: None, django_db_blocker: Any) -> Iterator[World]:
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]  # as `_bootstrapped` does
    world = World()
    with django_db_blocker.unblock(), around:
        fill_world(world, (HELD,))
        yield world
        transaction.set_rollback(True)


@pytest.fixture
def world(_made: World, db: None) -> World:
    return _made


def make(rule: Any = RULE, mode: str = "enforce") -> Guardrail:
    guardrail = guardrails.create(
        urn=RULE_URN, name="Tags are closed", rule=rule, mode=mode, by=authorizer.SYSTEM, channel=DOOR
    )
    assert guardrail.status == Guardrail.Status.HOLDS, guardrail.breaches
    return guardrail


def list_stored() -> tuple[object, ...]:
    """Return what a refused write could leave behind."""
    return (
        ChangeEvent.objects.count(),
        sorted(User.objects.values_list("urn", "state", "is_removed")),
        sorted(GroupProfile.objects.values_list("urn", "is_removed")),
        Membership.objects.count(),
        RoleAssignment.objects.count(),
        sorted(Policy.objects.values_list("urn", "version", "state")),
        PolicyEvent.objects.count(),
    )


def read_refusal(answer: Any) -> str:
    """Return the words of a refusal by the guardrail, checked to be in the form of its door."""
    kind, text = answer["Content-Type"].partition(";")[0], str(answer.content.decode())
    if kind == "text/html":
        assert answer.status_code in (409, 422)
        return text
    body = answer.json()
    if "errors" in body:
        (error,) = body["errors"]
        # Not ALREADY_EXISTS, which a client takes for a name that is taken.
        assert (error["extensions"]["code"], error["extensions"]["type"]) == (409, "CONFLICT")
        return str(error["message"])
    assert answer.status_code == 409, text
    if kind == "application/problem+json":
        assert (body["type"], body["guardrail"]) == ("/problems/guardrail", RULE_URN)
        assert body["example"]["privilege"] in text
    # A client of SCIM takes `uniqueness` for: it is there already.
    assert "scimType" not in body
    return str(body.get("detail") or body["message"])


def require_refused(write: Callable[[], Any], *, is_invited: bool = False) -> None:
    """Require that a write is refused by the guardrail and stores nothing."""
    before = list_stored()
    words = read_refusal(write())
    assert "The guardrail Tags are closed would be broken by this" in words
    assert "For example" in words
    # Signing up needs an invitation, which was made before and gives nothing.
    assert list_stored()[is_invited:] == before[is_invited:]


def list_findings() -> list[str]:
    return list(Finding.objects.filter(kind="guardrails", state=Finding.State.OPEN).values_list("subject", flat=True))


#: Roles of a group without members are nobody's.
HARMLESS = ("roleMembership of a group", "a new group with roles", "roles of a group by page")


# -- people -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [path for path in PEOPLE_PATHS if path not in HARMLESS])
def test_nobody_comes_to_hold_what_a_guardrail_keeps_from_them(world, path):
    _, call = PEOPLE_PATHS[path]
    make()
    require_refused(lambda: call(Calling(world, "manager", HELD)), is_invited="signing up" in path)


@pytest.mark.parametrize("path", PEOPLE_PATHS)
def test_one_that_warns_lets_it_through_and_raises_a_finding(world, path):
    form, call = PEOPLE_PATHS[path]
    guardrail = make(mode="warn")
    answer = call(Calling(world, "manager", HELD))
    assert has_passed(answer, form), answer.content
    assert len(list_findings()) == (path not in HARMLESS)
    guardrail.refresh_from_db()
    assert (guardrail.status == Guardrail.Status.BROKEN) == (path not in HARMLESS)


@pytest.mark.parametrize("path", HARMLESS)
def test_roles_of_a_group_are_refused_once_somebody_is_in_it(world, path):
    make()
    calling = Calling(world, "manager", HELD)
    if path == "a new group with roles":
        body = {"name": "Fresh", "roles": [calling.role], "members": [PLAIN]}
        require_refused(lambda: calling.api("POST", "groups/", body))
    else:
        Membership.objects.all().delete()
        groups.create(identifier="team", name="Team", members=[PLAIN], by=authorizer.SYSTEM, channel=DOOR)
        give_role = {
            "roleMembership of a group": lambda: calling.gms(
                proposal(f"{GROUP}team", "roleMembership", {"roles": [calling.role]})
            ),
            "roles of a group by page": lambda: calling.page(
                f"/settings/identities/groups/roles/{quote_urn(f'{GROUP}team')}", roles=[calling.role]
            ),
        }
        require_refused(give_role[path])


# -- signing in -------------------------------------------------------------------------------------------------------


def sign_in(username: str, *group_ids: str) -> User:
    identity = ExternalIdentity("https://idp.example", username, username, {}, group_ids, ())
    return external_sign_in.sign_in(identity=identity, may_sign_up=True, may_link=True)


@pytest.mark.parametrize("username", ["plain", "stranger"])
def test_signing_in_with_a_group_of_the_provider_is_refused(world, username, settings):
    settings.BOUNDED_DELEGATION = False
    make()
    before = list_stored()
    with pytest.raises(GuardrailBroken):
        sign_in(username, f"source-{HELD}")
    assert list_stored() == before
    # A group that is made by signing in and that a policy names already.
    with pytest.raises(GuardrailBroken):
        sign_in(username, f"new-{HELD}")
    assert list_stored() == before
    assert sign_in(username, "harmless").group_urns == [f"{GROUP}harmless"]


# -- policies ---------------------------------------------------------------------------------------------------------

TAGGING = "EDIT_ENTITY_TAGS"
JO = "urn:li:corpuser:jo"

#: Nobody but the root user, and who may edit everything for other tests, ever tags what is tagged PII.
TAG_RULE = {
    "never": {
        "actors": {
            "everybody_except": {
                "users": [f"{USER}datahub", f"{USER}manager", f"{USER}editor"],
                "roles": [f"{ROLE}Admin", f"{ROLE}Editor"],
            }
        },
        "privileges": [TAGGING],
        "resources": {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}]}},
    }
}


def put(urn: str, document: Any) -> None:
    policies.put_many(drafts={urn: policy_drafts.PolicyInput("datahub", document)}, by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.reset()


def send(caller: Caller, method: str, path: str, body: object) -> Any:
    return caller.client.generic(method, f"/api/v1/{path}", json.dumps(body), content_type=JSON)


def browse(caller: Caller, path: str, **fields: str) -> Any:
    caller.client.force_login(User.objects.get(urn=caller.urn))
    return caller.client.post(path, fields, follow=True)


def create_by_graphql(caller: Caller, document: Any) -> Any:
    given = {name: document[name] for name in ("type", "state", "privileges")} | {"name": "New"}
    actors = {"resourceOwners": False, "allUsers": False, "allGroups": False} | document["actors"]
    return fixed.graphql(caller, CREATE, input=given | {"actors": actors})


def apply_bundle(caller: Caller, document: Any) -> Any:
    text = yaml.safe_dump({"urn": POLICY, "family": "datahub", "document": document})
    return send(caller, "POST", "bundles/apply", {"files": {"policies/p.yaml": text}})


def import_by_page(caller: Caller, document: Any) -> Any:
    text = json.dumps([{"urn": POLICY, "family": "datahub", "document": document}])
    seen = browse(caller, f"{fixed.PAGES}/import", text=text).context["seen"]
    return browse(caller, f"{fixed.PAGES}/import", text=text, seen=seen)


def update_by_graphql(caller: Caller, document: Any) -> Any:
    return fixed.graphql(caller, UPDATE, urn=POLICY, input=fixed.GIVEN | {"state": document["state"]})


def act_in_admin(caller: Caller, model: str, action: str, row: Model) -> Any:
    fields = {"action": action, ACTION_CHECKBOX_NAME: str(row.pk), "is_confirmed": "1"}
    return browse(caller, f"/admin/policies/{model}/", **fields)


WRITES: dict[str, Callable[[Caller, Any], Any]] = {
    **{door.__name__: door for door in own_fields.DOORS if door is not own_fields.load_file},
    "update_by_graphql": update_by_graphql,
    "createPolicy": create_by_graphql,
    "POST": lambda caller, document: send(caller, "POST", "policies/", {"family": "datahub", "document": document}),
    "PUT": lambda caller, document: send(
        caller, "PUT", f"policies/{quote_urn(POLICY)}/", {"family": "datahub", "document": document}
    ),
    "bundle": apply_bundle,
    "import": import_by_page,
}


@pytest.fixture
def jo(root: Caller, person: Callable[..., Caller]) -> Caller:
    """The root user, beside whom there is Jo, where owners may not tag what they own."""
    person("jo")
    for policy in Policy.objects.filter(is_system=False):
        if policy.document.get("actors", {}).get("resourceOwners"):
            policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    return root


@pytest.mark.parametrize("door", WRITES)
def test_no_door_stores_a_policy_that_breaks_one(jo, door):
    if door not in ("createPolicy", "POST"):
        put(POLICY, own_fields.document(state="INACTIVE"))
    make(TAG_RULE)
    require_refused(lambda: WRITES[door](jo, own_fields.document()))


@pytest.mark.parametrize("door", WRITES)
def test_one_that_warns_lets_a_policy_through_and_raises_a_finding(jo, door):
    if door not in ("createPolicy", "POST"):
        put(POLICY, own_fields.document(state="INACTIVE"))
    make(TAG_RULE, mode="warn")
    answer = WRITES[door](jo, own_fields.document())
    assert answer.status_code in (200, 201, 202), answer.content
    assert len(list_findings()) == 1


@pytest.mark.parametrize("door", fixed.SWITCHES)
def test_no_door_activates_a_policy_that_breaks_one(jo, door):
    put(POLICY, fixed.FIXED | {"state": "INACTIVE", "editable": True})
    make(TAG_RULE)
    if door == "page":
        before = list_stored()
        assert "would be broken" in browse(jo, f"{fixed.PAGES}/state/{POLICY}", state="ACTIVE").content.decode()
        assert list_stored() == before
    else:
        require_refused(lambda: fixed.SWITCHES[door](jo, "ACTIVE"))


@pytest.mark.parametrize("door", fixed.DELETES)
def test_no_door_takes_away_the_deny_that_keeps_one(jo, door):
    put("urn:li:dataHubPolicy:allow", own_fields.document())
    put(POLICY, own_fields.document(effect="DENY"))
    make(TAG_RULE)
    if door == "page":
        before = list_stored()
        assert "would be broken" in browse(jo, f"{fixed.PAGES}/delete/{POLICY}").content.decode()
        assert list_stored() == before
    else:
        require_refused(lambda: fixed.DELETES[door](jo))


def test_no_earlier_version_is_restored_that_breaks_one(jo):
    put(POLICY, own_fields.document())
    put(POLICY, own_fields.document(state="INACTIVE"))
    make(TAG_RULE)
    before = list_stored()
    assert "would be broken" in browse(jo, f"{fixed.PAGES}/restore/1/{POLICY}").content.decode()
    assert list_stored() == before


def test_django_s_admin_switches_nothing_that_breaks_one(jo):
    put(POLICY, own_fields.document(state="INACTIVE"))
    make(TAG_RULE)
    before = list_stored()
    page = act_in_admin(jo, "policy", "activate", Policy.objects.get(urn=POLICY))
    assert "would be broken" in page.content.decode()
    assert list_stored() == before


def test_django_s_admin_reactivates_nobody_who_breaks_one(world, root):
    make()
    before = list_stored()
    page = act_in_admin(root, "user", "reactivate", User.objects.get(urn=f"{USER}off-{HELD}"))
    assert "would be broken" in page.content.decode()
    assert list_stored() == before


def test_a_command_of_the_operator_is_not_held_up_and_what_it_breaks_is_found(jo):
    guardrail = make(TAG_RULE)
    own_fields.load_file(jo, own_fields.document())
    assert list_findings() == []
    tasks.judge_guardrails()
    guardrail.refresh_from_db()
    assert guardrail.status == Guardrail.Status.BROKEN
    assert len(list_findings()) == 1


def test_policies_as_code_by_the_command_are_held_to_it(jo, tmp_path):
    make(TAG_RULE)
    (tmp_path / "policies").mkdir()
    text = yaml.safe_dump({"urn": POLICY, "family": "datahub", "document": own_fields.document()})
    (tmp_path / "policies" / "p.yaml").write_text(text, encoding="utf-8")
    before = list_stored()
    with pytest.raises(CommandError, match="would be broken by this"):
        call_command("policies", "apply", str(tmp_path))
    assert list_stored() == before
