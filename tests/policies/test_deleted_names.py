"""Deleted users, groups and roles: refused at once, taken out of what they were given, nothing left to a namesake."""

import json
from importlib import import_module

import pytest
from django.apps import apps

from catalog.ingest import apply as ingest
from catalog.ingest.validate import Proposal
from catalog.models import Aspect
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies, policy_drafts, removed_names
from policies.engine.model import DecisionCode
from policies.engine.requirements import privilege_requirement
from policies.errors import Conflict
from policies.identity.services import external_sign_in, groups, invitations, roles, users
from policies.identity.services.oidc_claims import ExternalIdentity
from policies.models import ChangeEvent, Policy, PolicyEvent, Tombstone, User
from policies.pdp import actor_resolution, authorizer, explanations, inverse_queries, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef

pytestmark = pytest.mark.django_db

DOOR = "test"
JO, BEA, STRANGER = "urn:li:corpuser:jo", "urn:li:corpuser:bea", "urn:li:corpuser:stranger"
ENG, STEWARD = "urn:li:corpGroup:eng", "urn:li:dataHubRole:steward"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:snowflake,sales.orders,PROD)"
POLICY = "urn:li:dataHubPolicy:p"


def put(name, actors, by, **more):
    document = {
        "displayName": name,
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": actors,
        "resources": {"filter": {"criteria": []}},
    } | more
    urn = f"urn:li:dataHubPolicy:{name}"
    policies.put_many(drafts={urn: policy_drafts.PolicyInput("datahub", document)}, by=by, channel=DOOR)
    snapshot_store.reset()
    return urn


def own(by, *owners):
    document = {"owners": [{"owner": owner, "type": "TECHNICAL_OWNER"} for owner in owners]}
    proposal = Proposal(urn=DATASET, aspect="ownership", document=json.dumps(document))
    ingest.apply(proposals=[proposal], by=by, channel=DOOR)


def ask(urn, privilege="EDIT_ENTITY_TAGS"):
    request = AccessRequest(privilege_requirement(privilege), ResourceRef(DATASET, "dataset"))
    return authorizer.answer(actor=actor_resolution.load_actor(urn=urn), request=request)


def find_who():
    found = inverse_queries.find_allowed_actors(privilege="EDIT_ENTITY_TAGS", resource=ResourceRef(DATASET, "dataset"))
    return {*found.users, *found.groups, *found.roles}


def stored_actors(urn):
    return Policy.objects.get(urn=urn).document["actors"]


@pytest.fixture
def company(system, user, group, role):
    """Jo is named by policies in every way, owns a dataset by herself and by a group, and holds a role."""
    role("steward")
    for name in ("jo", "bea"):
        user(name)
    group("eng", members=[JO, BEA])
    return system


NAMING = {
    "by name": {"users": [JO, STRANGER]},
    "as one of all": {"allUsers": True},
    "as an owner": {"resourceOwners": True},
}

ENDS = {
    "deleted": lambda by: users.remove(urn=JO, by=by, channel=DOOR),
    "removed": lambda by: aspect_services.apply(
        changes=[AspectChange(JO, "corpuser", "status", {"removed": True})], by=by
    ),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("naming", NAMING)
def test_who_is_gone_is_refused_whatever_names_them(company, naming, end):
    put("allow", NAMING[naming], company)
    own(company, JO, ENG)
    assert ask(JO).is_allowed
    ENDS[end](company)
    decision = ask(JO)
    assert (decision.is_allowed, decision.code) == (False, DecisionCode.ACTOR_REMOVED)
    assert ask(JO, "VIEW_ENTITY_PAGE").code is DecisionCode.ACTOR_REMOVED
    assert JO not in find_who()
    actor = actor_resolution.load_actor(urn=JO)
    assert not inverse_queries.find_allowed_privileges(actor=actor, resource=ResourceRef(DATASET, "dataset")).privileges
    assert not authorizer.compute_coverage(actor=actor, privilege="EDIT_ENTITY_TAGS").allows
    assert ask(STRANGER).is_allowed is (naming != "as an owner")


def test_an_explanation_tells_the_deleted_from_the_unknown(company):
    put("allow", {"users": [JO]}, company)
    users.remove(urn=JO, by=company, channel=DOOR)
    request = AccessRequest(privilege_requirement("EDIT_ENTITY_TAGS"), ResourceRef(DATASET, "dataset"))
    hints = {}
    for urn in (JO, STRANGER):
        actor = actor_resolution.load_actor(urn=urn)
        explanation = explanations.explain_answer(actor=actor, request=request)
        hints[urn] = (explanation.decision.code, [hint.name for hint in explanation.hints])
    assert hints == {JO: (DecisionCode.ACTOR_REMOVED, []), STRANGER: (DecisionCode.IMPLICIT_DENY, [STRANGER])}


def test_a_removed_status_that_is_taken_back_is_the_same_account(company):
    put("allow", {"users": [JO]}, company)
    ENDS["removed"](company)
    removed_names.remove_names()
    aspect_services.apply(changes=[AspectChange(JO, "corpuser", "status", {"removed": False})], by=company)
    assert ask(JO).is_allowed
    assert ENG in actor_resolution.load_actor(urn=JO).groups
    assert not Tombstone.objects.exists()


def test_the_task_takes_the_name_from_what_allows_and_keeps_it_in_what_does_not(company):
    allow = put("allow", {"users": [BEA, JO], "groups": [ENG]}, company)
    alone = put("alone", {"users": [JO]}, company, state="INACTIVE")
    spared = put("spared", {"allUsers": True, "excludedUsers": [JO]}, company)
    deny = put("deny", {"users": [JO, BEA]}, company, effect="DENY", privileges=["EDIT_ENTITY_DOCS"])
    own(company, JO, BEA)
    users.remove(urn=JO, by=company, channel=DOOR)
    removed_names.remove_names()
    assert stored_actors(allow) == {"users": [BEA], "groups": [ENG]}
    assert stored_actors(alone) == {"users": []}
    assert stored_actors(spared) == {"allUsers": True, "excludedUsers": [JO]}
    assert stored_actors(deny) == {"users": [JO, BEA]}
    ownership = json.loads(Aspect.objects.get(name="ownership", version=0).document)
    assert [owner["owner"] for owner in ownership["owners"]] == [BEA]
    events = ChangeEvent.objects.filter(object_urn=JO, door=removed_names.CHANNEL)
    assert [event.before for event in events] == [{"named_by": {"policies": 2, "documents": 1}}]
    versions = PolicyEvent.objects.filter(door=removed_names.CHANNEL).order_by("policy_urn")
    assert [(event.policy_urn, event.version) for event in versions] == [(allow, 2), (alone, 2)]
    assert removed_names.remove_names() == 0


CREATING = {
    "the API": lambda by: users.create(username="jo", by=by, channel="api"),
    "aspects": lambda by: aspect_services.apply(
        changes=[AspectChange(JO, "corpuser", "corpUserInfo", {"active": True})], by=by
    ),
    "an invitation": lambda by: invitations.sign_up(
        text=invitations.create(role=None, by=by, channel=DOOR).text,
        username="jo",
        password="correct horse battery",
        channel="pages",
    ),
    "the identity provider": lambda _: external_sign_in.sign_in(
        identity=ExternalIdentity("https://idp.example", "jo", "jo", {}, (), ()), may_sign_up=True, may_link=True
    ),
}


@pytest.mark.parametrize("creating", CREATING)
def test_a_namesake_begins_with_what_all_users_have(company, creating):
    put("allow", {"users": [JO]}, company)
    own(company, JO, BEA)
    put("owners", {"resourceOwners": True}, company)
    everybody = put("everybody", {"allUsers": True}, company, privileges=["EDIT_ENTITY_DOCS"])
    users.remove(urn=JO, by=company, channel=DOOR)
    with pytest.raises(Conflict, match=f"{JO} was deleted, and what it was given is still being removed"):
        CREATING[creating](company)
    assert not User.objects.filter(urn=JO).exists()
    removed_names.remove_names()
    CREATING[creating](company)
    snapshot_store.reset()
    assert ask(JO).code is DecisionCode.IMPLICIT_DENY
    decision = ask(JO, "EDIT_ENTITY_DOCS")
    assert [statement.origin.policy for statement in decision.statements] == [everybody]
    assert not actor_resolution.load_actor(urn=JO).groups
    groups.add_members(urn=ENG, members=[JO], by=company, channel=DOOR)
    put("group", {"groups": [ENG]}, company)
    assert ask(JO).is_allowed


def test_what_names_a_deleted_account_later_is_no_gift_to_its_namesake(company):
    users.remove(urn=JO, by=company, channel=DOOR)
    removed_names.remove_names()
    allow = put("allow", {"users": [JO]}, company)
    own(company, JO)
    with pytest.raises(Conflict, match="still being removed"):
        users.create(username="jo", by=company, channel=DOOR)
    removed_names.remove_names(again=[JO])
    assert stored_actors(allow) == {"users": []}
    users.create(username="jo", by=company, channel=DOOR)
    assert not ask(JO).is_allowed


def test_a_group_and_a_role_of_a_former_name_begin_anew(company):
    allow = put("allow", {"groups": [ENG], "roles": [STEWARD]}, company)
    own(company, ENG, BEA)
    groups.remove(urn=ENG, by=company, channel=DOOR)
    assert not ask(BEA).is_allowed
    assert find_who() == {STEWARD}
    with pytest.raises(Conflict, match=f"{ENG} was deleted"):
        groups.create(name="eng", identifier="eng", members=[BEA], by=company, channel=DOOR)
    with pytest.raises(Conflict, match="named by 1 policies"):
        roles.delete(urn=STEWARD, by=company, channel=DOOR)
    removed_names.remove_names()
    assert stored_actors(allow) == {"groups": [], "roles": [STEWARD]}
    groups.create(name="eng", identifier="eng", members=[BEA], by=company, channel=DOOR)
    snapshot_store.reset()
    assert not ask(BEA).is_allowed


def test_signing_in_leaves_out_a_group_whose_former_name_is_being_removed(company, group):
    put("allow", {"groups": [ENG]}, company)
    groups.remove(urn=ENG, by=company, channel=DOOR)
    identity = ExternalIdentity("https://idp.example", "bea", "bea", {}, ("eng", "ops"), ())
    external_sign_in.sign_in(identity=identity, may_sign_up=False, may_link=True)
    assert actor_resolution.load_actor(urn=BEA).groups == {"urn:li:corpGroup:ops"}
    removed_names.remove_names()
    snapshot_store.reset()
    external_sign_in.sign_in(identity=identity, may_sign_up=False, may_link=True)
    assert actor_resolution.load_actor(urn=BEA).groups == {"urn:li:corpGroup:ops", ENG}
    assert not ask(BEA).is_allowed


def test_a_role_that_was_deleted_is_named_by_nobody(company):
    allow = put("allow", {"roles": [STEWARD]}, company)
    policies.set_state(urn=allow, state="INACTIVE", by=company, channel=DOOR)
    policies.delete(urn=allow, by=company, channel=DOOR)
    roles.delete(urn=STEWARD, by=company, channel=DOOR)
    put("allow", {"roles": [STEWARD]}, company)
    assert STEWARD not in find_who()
    with pytest.raises(Conflict, match=f"{STEWARD} was deleted"):
        roles.create(name="steward", identifier="steward", by=company, channel=DOOR)


def test_the_migration_marks_who_was_deleted_before(company, group):
    group("gone")
    for urn in (JO, BEA):
        users.remove(urn=urn, by=company, channel=DOOR)
    groups.remove(urn="urn:li:corpGroup:gone", by=company, channel=DOOR)
    roles.delete(urn=STEWARD, by=company, channel=DOOR)
    users.create(username="bea", by=company, channel=DOOR)
    Tombstone.objects.all().delete()
    # A document about somebody who was never registered.
    for document in ('{"elements": []}', None):
        change = "UPSERT" if document else "DELETE"
        proposal = Proposal(urn=STRANGER, aspect="institutionalMemory", document=document, change=change)
        ingest.apply(proposals=[proposal], by=company, channel=DOOR)
    import_module("policies.migrations.0024_deleted_names").mark_deleted(apps, None)
    marked = {JO, "urn:li:corpGroup:gone", STEWARD}
    assert set(Tombstone.objects.filter(is_pending=True).values_list("urn", flat=True)) == marked
    assert ask(JO).code is DecisionCode.ACTOR_REMOVED
