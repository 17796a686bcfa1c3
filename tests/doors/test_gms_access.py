"""Who may do what through DataHub's REST door (clients.md 1.1 and 2.6; house.md section 8, the switches)."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.test import Client
from django.utils import timezone

from catalog.models import Aspect, Entity
from catalog.protocols.datahub_rest.urls import urlpatterns
from policies.engine.model import SYSTEM_ACTOR
from policies.identity.services import access_tokens, groups, users
from policies.models import AccessToken, GroupProfile, Policy, Role, RoleAssignment, User
from policies.pdp import actor_resolution, authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, calling, give, make_person, proposal, token_of, written
from tests.doors.guards import asks_for_a_caller

pytestmark = pytest.mark.django_db

ROLE = "urn:li:role:snowflake_reader_role"
READS = [
    ("get", "/entities/urn:li:role:x"),
    ("get", "/entitiesV2/urn:li:role:x"),
    ("get", "/aspects/urn:li:role:x?aspect=status"),
]
WRITES = [
    ("post", "/aspects?action=ingestProposal"),
    ("post", "/aspects/?action=ingestProposalBatch"),
    ("post", "/entities?action=search"),
    ("post", "/entities?action=listUrns"),
    ("post", "/entities?action=delete"),
    ("post", "/entities?action=deleteReferences"),
]


# -- who is calling ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "path"), READS + WRITES)
@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer invented", "Basic ZGF0YWh1YjpkYXRhaHVi", "azs_" + "x" * 43]
)
def test_without_a_good_token_everything_is_401(nobody, method, path, header):
    headers = {} if header is None else {"authorization": header}
    answer = getattr(nobody, method)(path, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json().keys() == {"status", "message", "exceptionClass"}


@pytest.mark.parametrize("end", ["expired", "revoked", "suspended", "removed"])
def test_a_token_that_opens_nothing_any_more(installed, person, end):
    jo = person("jo", "EDIT_ENTITY")
    assert jo.entity(jo.urn).status_code == 200
    match end:
        case "expired":
            now = timezone.now()
            AccessToken.objects.update(created_at=now - timedelta(days=2), expires_at=now - timedelta(seconds=1))
        case "revoked":
            access_tokens.revoke(
                token_id=AccessToken.objects.get(user__urn=jo.urn).pk, by=authorizer.SYSTEM, channel=DOOR
            )
        case "suspended":
            assert calling(ROOT).write(proposal(jo.urn, "corpUserStatus", {"status": "SUSPENDED"})).status_code == 200
        case _:
            assert calling(ROOT).write(proposal(jo.urn, "status", {"removed": True})).status_code == 200
    answer = jo.entity(jo.urn)
    assert answer.status_code == 401
    assert "invalid_token" in answer.headers["WWW-Authenticate"]


@pytest.mark.parametrize(("method", "path"), READS + WRITES)
def test_the_session_of_the_pages_opens_nothing(installed, method, path):
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(urn=ROOT), backend="django.contrib.auth.backends.ModelBackend")
    assert getattr(client, method)(path).status_code == 401


def test_no_csrf_token_is_needed_with_a_bearer_token(root):
    strict = Client(enforce_csrf_checks=True, headers={"authorization": f"bearer  {token_of(ROOT)} "})
    body = json.dumps({"proposal": proposal(ROLE, "madeUp", {})})
    assert strict.post("/aspects?action=ingestProposal", body, content_type="text/plain").status_code == 200


# -- METADATA_SERVICE_AUTH_ENABLED off --------------------------------------------------------------------------------


@pytest.fixture
def open_house(installed, settings):
    settings.METADATA_SERVICE_AUTH_ENABLED = False


def test_without_a_token_one_is_the_root_user_then(open_house, nobody):
    body = json.dumps({"proposal": proposal(ROLE, "madeUp", {})})
    assert nobody.post("/aspects?action=ingestProposal", body, content_type="application/json").status_code == 200
    assert Aspect.objects.get(name="madeUp").created_by == ROOT
    assert nobody.get(f"/entities/{ROLE}").status_code == 200


def test_a_token_still_says_who_calls_then(open_house, person, nobody):
    jo = person("jo")
    assert jo.write(proposal(ROLE, "madeUp", {})).status_code == 403
    assert nobody.get(f"/entities/{ROLE}", headers={"authorization": "Bearer invented"}).status_code == 401


@pytest.mark.parametrize(
    "headers", [{"origin": "https://elsewhere.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}]
)
def test_a_browser_that_another_site_made_call_is_refused_then(open_house, nobody, headers):
    body = json.dumps({"proposal": proposal(ROLE, "madeUp", {})})
    answer = nobody.post("/aspects?action=ingestProposal", body, content_type="text/plain", headers=headers)
    assert answer.status_code == 403
    assert written() == []
    own = {"origin": "http://testserver", "sec-fetch-site": "same-origin"}
    assert (
        nobody.post("/aspects?action=ingestProposal", body, content_type="text/plain", headers=own).status_code == 200
    )


# -- what ordinary callers may do -------------------------------------------------------------------------------------


def test_reading_needs_one_of_the_privileges_of_reading(root, person):
    root.write(proposal(DATASET, "madeUp", {}))
    close_the_reading_policies(root)
    stranger = person("stranger")
    for path in (f"/entities/{DATASET}", f"/entitiesV2/{DATASET}", f"/aspects/{DATASET}?aspect=madeUp"):
        answer = stranger.get(path)
        assert answer.status_code == 403
        assert "VIEW_ENTITY_PAGE" in answer.json()["message"]
    for name in ("VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE", "EDIT_ENTITY", "DELETE_ENTITY"):
        reader = person(name.lower(), name)
        assert reader.entity(DATASET).status_code == 200, name
    assert stranger.entity(stranger.urn).status_code == 200


def test_a_refusal_does_not_tell_what_exists(root, person):
    close_the_reading_policies(root)
    root.write(proposal(DATASET, "madeUp", {}))
    stranger = person("stranger")
    answers = [stranger.entity(DATASET), stranger.entity(DATASET.replace("orders", "nothing"))]
    assert [answer.status_code for answer in answers] == [403, 403]


def test_writing_needs_privileges_and_says_which(person):
    jo = person("jo")
    answer = jo.write(proposal(DATASET, "datasetProperties", {"name": "x"}))
    assert answer.status_code == 403
    assert answer.json()["exceptionClass"]
    assert "CREATE_ENTITY" in answer.json()["message"]
    assert written() == []


def test_a_batch_with_one_forbidden_item_writes_nothing(person):
    jo = person("jo", "CREATE_ENTITY", "EDIT_ENTITY", resources={"type": "dataset", "allResources": True})
    tag = proposal("urn:li:tag:x", "tagProperties", {"name": "x"})
    answer = jo.write(proposal(DATASET, "madeUp", {}), tag)
    assert answer.status_code == 403
    assert written() == []
    assert jo.write(proposal(DATASET, "madeUp", {}), proposal(DATASET, "other", {})).status_code == 200


def test_deletes_need_their_privilege(root, person):
    root.write(proposal(DATASET, "madeUp", {}))
    editor = person("editor", "EDIT_ENTITY")
    for action in ("delete", "deleteReferences"):
        assert editor.post(f"/entities?action={action}", {"urn": DATASET}).status_code == 403
    assert Entity.objects.filter(urn=DATASET).exists()
    assert person("remover", "DELETE_ENTITY").post("/entities?action=delete", {"urn": DATASET}).status_code == 200


def test_a_soft_delete_needs_more_than_reading(root, person):
    root.write(proposal(DATASET, "madeUp", {}))
    jo = person("jo", "VIEW_ENTITY_PAGE")
    assert jo.write(proposal(DATASET, "status", {"removed": True})).status_code == 403
    assert (
        person("keeper", "EDIT_ENTITY_STATUS").write(proposal(DATASET, "status", {"removed": True})).status_code == 200
    )


def test_a_search_finds_only_what_may_be_viewed(root, person, settings, django_assert_max_num_queries):
    hidden = DATASET.replace("orders", "hidden")
    root.write(proposal(DATASET, "madeUp", {}), proposal(hidden, "madeUp", {}), proposal("urn:li:tag:x", "madeUp", {}))
    close_the_reading_policies(root)
    only = {"filter": {"criteria": [{"field": "URN", "values": [DATASET], "condition": "EQUALS"}]}}
    jo = person("jo", "GET_ENTITY_PRIVILEGE", resources=only)
    asked = {"entity": "dataset", "input": "*"}
    assert jo.search(**asked) == [hidden, DATASET]
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert jo.search(**asked) == [DATASET]
    assert jo.post("/entities?action=search", asked).json()["value"]["numEntities"] == 1
    assert jo.post("/entities?action=listUrns", asked).json()["value"]["entities"] == [DATASET]
    assert jo.search(entity="tag", input="*") == ["urn:li:tag:x"]
    assert root.search(**asked) == [hidden, DATASET]


def test_references_name_and_count_only_what_may_be_viewed(root, person, settings):
    root.write(proposal(DATASET, "access", {"roles": [{"urn": ROLE}]}))
    close_the_reading_policies(root)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    jo = person("jo", "VIEW_ENTITY_PAGE", resources={"type": "role", "allResources": True})
    body = {"urn": ROLE, "dryRun": True}
    assert jo.post("/entities?action=deleteReferences", body).json()["value"] == {"total": 0, "relatedAspects": []}
    assert len(root.post("/entities?action=deleteReferences", body).json()["value"]["relatedAspects"]) == 1
    assert person("stranger").post("/entities?action=deleteReferences", body).status_code == 403


def test_lists_of_people_need_reading_in_general(root, person):
    jo = person("jo")
    assert jo.search(entity="dataHubPolicy", input="*") != []
    close_the_reading_policies(root)
    for entity in ("corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"):
        assert jo.post("/entities?action=search", {"entity": entity, "input": "*"}).status_code == 403
        assert jo.post("/entities?action=listUrns", {"entity": entity}).status_code == 403


# -- REST_API_AUTHORIZATION off ---------------------------------------------------------------------------------------


def test_ordinary_entities_are_open_without_rest_authorization_and_people_are_not(root, person, settings):
    close_the_reading_policies(root)
    settings.REST_API_AUTHORIZATION = False
    jo = person("jo")
    assert jo.write(proposal(DATASET, "madeUp", {})).status_code == 200
    assert jo.entity(DATASET).status_code == 200
    assert jo.post("/entities?action=deleteReferences", {"urn": DATASET}).status_code == 200
    assert jo.post("/entities?action=delete", {"urn": DATASET}).status_code == 200
    for urn in (
        ROOT,
        "urn:li:dataHubPolicy:0",
        "urn:li:dataHubRole:Admin",
        "urn:li:corpGroup:x",
        "urn:li:inviteToken:x",
    ):
        assert jo.entity(urn).status_code == 403, urn
        assert jo.post("/entities?action=delete", {"urn": urn}).status_code in (400, 403), urn


# -- the outsider -----------------------------------------------------------------------------------------------------

EVERYTHING = {
    "displayName": "Mine",
    "type": "PLATFORM",
    "state": "ACTIVE",
    "privileges": ["MANAGE_POLICIES"],
    "actors": {"users": ["urn:li:corpuser:outsider"], "allUsers": True, "allGroups": False, "resourceOwners": False},
    "editable": True,
}
ME = "urn:li:corpuser:outsider"
ADMINS = "urn:li:corpGroup:admins"
ADMIN = "urn:li:dataHubRole:Admin"

ATTEMPTS = {
    "a policy of my own": proposal("urn:li:dataHubPolicy:mine", "dataHubPolicyInfo", EVERYTHING),
    "a policy there is": proposal("urn:li:dataHubPolicy:7", "dataHubPolicyInfo", EVERYTHING),
    "the policy of root": proposal("urn:li:dataHubPolicy:0", "dataHubPolicyInfo", EVERYTHING),
    "taking a policy away": proposal("urn:li:dataHubPolicy:7", "dataHubPolicyInfo", None, changeType="DELETE"),
    "hiding a policy": proposal("urn:li:dataHubPolicy:7", "status", {"removed": True}),
    "something beside a policy": proposal("urn:li:dataHubPolicy:7", "madeUp", {}),
    "owning a policy": proposal(
        "urn:li:dataHubPolicy:7", "ownership", {"owners": [{"owner": ME, "type": "TECHNICAL_OWNER"}]}
    ),
    "my role": proposal(ME, "roleMembership", {"roles": [ADMIN]}),
    "my role, created": proposal(ME, "roleMembership", {"roles": [ADMIN]}, changeType="CREATE"),
    "my group's role": proposal("urn:li:corpGroup:mine", "roleMembership", {"roles": [ADMIN]}),
    "a role of my own": proposal("urn:li:dataHubRole:mine", "dataHubRoleInfo", {"name": "x", "description": ""}),
    "the role of administrators": proposal(
        ADMIN, "dataHubRoleInfo", {"name": "x", "description": "", "editable": True}
    ),
    "hiding a role": proposal(ADMIN, "status", {"removed": True}),
    "a group I join": proposal(ME, "groupMembership", {"groups": [ADMINS]}),
    "a native group I join": proposal(ME, "nativeGroupMembership", {"nativeGroups": [ADMINS]}),
    "a group of my own": proposal(
        "urn:li:corpGroup:mine", "corpGroupInfo", {"admins": [], "members": [], "groups": []}
    ),
    "another person's name": proposal(ROOT, "corpUserInfo", {"active": True, "email": "outsider@example.com"}),
    "another person's profile": proposal(ROOT, "corpUserEditableInfo", {"email": "outsider@example.com"}),
    "suspending root": proposal(ROOT, "corpUserStatus", {"status": "SUSPENDED"}),
    "removing root": proposal(ROOT, "status", {"removed": True}),
    "root's password": proposal(ROOT, "corpUserCredentials", {"salt": "x", "hashedPassword": make_password("x")}),
    "my own password": proposal(ME, "corpUserCredentials", {"salt": "x", "hashedPassword": "x"}),
    "a token": proposal("urn:li:dataHubAccessToken:x", "dataHubAccessTokenInfo", {"actorUrn": ROOT, "ownerUrn": ME}),
    "an invite": proposal("urn:li:inviteToken:x", "inviteToken", {"token": "x", "role": ADMIN}),
    "the system actor": proposal(SYSTEM_ACTOR, "corpUserInfo", {"active": True}),
    "a new user": proposal("urn:li:corpuser:second", "corpUserInfo", {"active": True}),
    "a secret": proposal("urn:li:dataHubSecret:x", "dataHubSecretValue", {"name": "x", "value": "x"}),
    "something beside a secret": proposal("urn:li:dataHubSecret:x", "madeUp", {}),
    "something beside a token": proposal("urn:li:dataHubAccessToken:x", "madeUp", {}),
    "owning an invite": proposal(
        "urn:li:inviteToken:x", "ownership", {"owners": [{"owner": ME, "type": "TECHNICAL_OWNER"}]}
    ),
    "owning a dataset": proposal(DATASET, "ownership", {"owners": [{"owner": ME, "type": "TECHNICAL_OWNER"}]}),
}

#: What nobody may do; the door need not know who asks to refuse it.
IMPOSSIBLE = frozenset({"hiding a policy", "hiding a role", "the system actor"})

#: What somebody may do to ordinary entities; the switch opens it, and it gives no power.
ORDINARY = frozenset({"owning a dataset"})

#: A word that a policy of somebody else may allow; nothing of it must help.
HARMLESS = proposal("urn:li:tag:harmless", "tagProperties", {"name": "harmless"})


@pytest.fixture
def outsider(installed):
    """A signed-in user who may write tags, in an installation with a group of administrators."""
    return make_outsider()


def make_outsider():
    """Store the group of administrators and the outsider."""
    groups.create(identifier="admins", name="Admins", by=authorizer.SYSTEM, channel=DOOR)
    RoleAssignment.objects.create(role=Role.objects.get(urn=ADMIN), group=GroupProfile.objects.get(urn=ADMINS).group)
    return make_person("outsider", "EDIT_ENTITY", "CREATE_ENTITY", resources={"type": "tag", "allResources": True})


def standing() -> object:
    """Everything that power follows from."""
    return (
        list(Policy.objects.order_by("urn").values_list("urn", "document", "state", "version")),
        list(Role.objects.order_by("urn").values_list("urn", "name", "is_editable")),
        list(RoleAssignment.objects.order_by("pk").values_list("role", "user", "group")),
        list(User.objects.order_by("urn").values_list("urn", "password", "email", "state", "is_removed")),
        list(GroupProfile.objects.order_by("urn").values_list("urn", "name")),
        actor_resolution.load_actor(urn=ME),
        AccessToken.objects.count(),
        list(Aspect.objects.order_by("pk").values_list("entity__urn", "name")),
    )


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_outsider_gains_nothing_by_any_write(outsider, settings, attempt):
    before = standing()
    one = ATTEMPTS[attempt]
    refused = {400, 403} if attempt in IMPOSSIBLE else {403}
    for is_guarded in (True, False)[: 1 if attempt in ORDINARY else 2]:
        settings.REST_API_AUTHORIZATION = is_guarded
        for batch in ([one], [HARMLESS, one], [one, HARMLESS], [one, one]):
            answer = outsider.write(*batch)
            assert answer.status_code in refused, answer.content
    assert standing() == before


@pytest.mark.parametrize("is_guarded", [False, True])
@pytest.mark.parametrize("urn", ["urn:li:dataHubPolicy:7", "urn:li:dataHubPolicy:0", ADMIN, ADMINS, ROOT])
def test_an_outsider_deletes_nothing(outsider, settings, urn, is_guarded):
    settings.REST_API_AUTHORIZATION = is_guarded
    before = standing()
    for action in ("delete", "deleteReferences"):
        assert outsider.post(f"/entities?action={action}", {"urn": urn}).status_code == 403
    for name in ("dataHubPolicyInfo", "roleMembership", "corpUserInfo", "corpGroupInfo", "dataHubRoleInfo", "status"):
        answer = outsider.post("/entities?action=delete", {"urn": urn, "aspectName": name})
        assert answer.status_code == 403, (name, answer.content)
    assert standing() == before


def test_the_privilege_of_the_matching_page_opens_the_same_write(root, person):
    """The guards are those of the pages: they refuse the outsider and nobody else."""
    manager = person("outsider")
    give(ME, "MANAGE_POLICIES", type="PLATFORM")
    assert manager.write(ATTEMPTS["a policy of my own"]).status_code == 200
    # Administrators hold MANAGE_GUARDRAILS, which a manager of policies alone gives nobody.
    assert manager.write(ATTEMPTS["my role"]).status_code == 403
    give(ME, "MANAGE_GUARDRAILS", type="PLATFORM")
    assert manager.write(ATTEMPTS["my role"]).status_code == 200
    assert ADMIN in actor_resolution.load_actor(urn=ME).roles


def test_not_even_root_touches_secrets_and_the_system_actor(root):
    for attempt in ("root's password", "a token", "an invite"):
        assert root.write(ATTEMPTS[attempt]).status_code == 403
    assert root.write(ATTEMPTS["the system actor"]).status_code in (400, 403)
    assert not User.objects.filter(urn=SYSTEM_ACTOR).exists()
    assert root.post("/entities?action=delete", {"urn": ROOT}).status_code == 403
    assert root.write(ATTEMPTS["removing root"]).status_code in (400, 403)
    assert User.objects.get(urn=ROOT).is_active


def test_memberships_written_here_are_those_of_the_pages(root):
    jo = users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    answer = root.write(
        proposal(
            "urn:li:corpGroup:eng", "corpGroupInfo", {"admins": [], "members": [], "groups": [], "displayName": "E"}
        ),
        proposal(jo.urn, "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:eng"]}),
        proposal("urn:li:corpGroup:eng", "roleMembership", {"roles": [ADMIN]}),
    )
    assert answer.status_code == 200, answer.content
    actor = actor_resolution.load_actor(urn=jo.urn)
    assert actor.groups == {"urn:li:corpGroup:eng"}
    assert actor.roles == {ADMIN}
    assert calling(jo.urn).write(proposal(DATASET, "madeUp", {})).status_code == 200
    assert not Aspect.objects.filter(name__in=["nativeGroupMembership", "roleMembership", "corpGroupInfo"]).exists()


def test_every_path_of_the_door_asks_who_is_calling():
    assert [str(part.pattern) for part in urlpatterns if not asks_for_a_caller(part.callback)] == ["config"]


def close_the_reading_policies(root) -> None:
    """Switch off the two policies that let everybody view everything."""
    for urn in ("urn:li:dataHubPolicy:view-entity-page-all", "urn:li:dataHubPolicy:view-dataset-sensitive"):
        document = {**Policy.objects.get(urn=urn).document, "state": "INACTIVE"}
        assert root.write(proposal(urn, "dataHubPolicyInfo", document)).status_code == 200
