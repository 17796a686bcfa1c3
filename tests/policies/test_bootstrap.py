"""What an installation starts with, and what a second start changes."""

from io import StringIO

import pytest
from django.core.management import call_command

from policies import bootstrap
from policies.aspects import queries as aspect_queries
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Conflict, Forbidden
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles, users
from policies.models import ChangeEvent, Policy, PolicyEvent, PolicyVersion, Role, User
from policies.pdp import active_policies, actor_resolution, authorizer, display_names, snapshot_store

pytestmark = pytest.mark.django_db

ROOT = "urn:li:corpuser:datahub"
EVERYBODY = "urn:li:dataHubPolicy:7"
SHIPPED_PRIVILEGES = {"VIEW_ANALYTICS", "GENERATE_PERSONAL_ACCESS_TOKENS"}

called_by: list[str] = []


def note_call(*, by):
    called_by.append(by.urn)


def edit(urn, **fields):
    document = Policy.objects.get(urn=urn).document | fields
    return policies.update(
        urn=urn, draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test"
    )


def privileges(urn):
    return set(Policy.objects.get(urn=urn).document["privileges"])


def test_a_new_installation_has_what_the_product_needs():
    done = bootstrap.run()
    assert (len(done.created_urns), done.rewritten_urns) == (21, [])
    assert set(Role.objects.values_list("name", "is_editable")) == {
        ("Admin", False),
        ("Editor", False),
        ("Reader", False),
    }
    assert Policy.objects.filter(state="ACTIVE").count() == 17
    assert set(Policy.objects.filter(is_system=True).values_list("urn", flat=True)) == bootstrap.SYSTEM_POLICIES
    root = User.objects.get(urn=ROOT)
    assert root.check_password("datahub")
    assert (root.name, root.is_staff, root.created_by) == ("DataHub", True, SYSTEM_ACTOR)
    composed = aspect_queries.load_aspects(urn=ROOT)
    assert composed is not None
    assert composed["corpUserInfo"]["system"] is True
    assert active_policies.is_open_to_everybody()


def test_super_users_hold_every_privilege_of_the_registry():
    bootstrap.run()
    registry = vocabulary.load_datahub()
    for suffix in ("0", "admin-platform-policy"):
        assert privileges(f"urn:li:dataHubPolicy:{suffix}") == {one.name for one in registry.platform_privileges()}
    for suffix in ("1", "admin-metadata-policy"):
        assert privileges(f"urn:li:dataHubPolicy:{suffix}") == {one.name for one in registry.metadata_privileges()}
    snapshot_store.reset()
    root = actor_resolution.load_actor(urn=ROOT)
    for one in registry.privileges.values():
        assert authorizer.require(by=root, any_of=[[one.name]]).is_allowed
    assert "CHECK_ACCESS" in registry.names


def test_a_second_run_changes_nothing():
    bootstrap.run()
    version, events, policy_events = (
        PolicyVersion.load_version(),
        ChangeEvent.objects.count(),
        PolicyEvent.objects.count(),
    )
    done = bootstrap.run()
    assert (done.created_urns, done.rewritten_urns) == ([], [])
    assert (PolicyVersion.load_version(), ChangeEvent.objects.count()) == (version, events)
    assert PolicyEvent.objects.count() == policy_events


def test_what_cannot_be_edited_is_rewritten_and_what_can_is_left_alone():
    bootstrap.run()
    fixed, free = "urn:li:dataHubPolicy:reader-metadata-policy", "urn:li:dataHubPolicy:view-entity-page-all"
    shipped = Policy.objects.get(urn=fixed).document
    edit(fixed, privileges=[])
    edit(free, privileges=[], state="INACTIVE")
    Role.objects.filter(name="Reader").update(description="old words")
    done = bootstrap.run()
    assert set(done.rewritten_urns) == {fixed, "urn:li:dataHubRole:Reader"}
    assert Policy.objects.get(urn=fixed).document == shipped
    assert Policy.objects.get(urn=free).document["privileges"] == []
    assert Policy.objects.get(urn=free).state == "INACTIVE"
    policies.delete(urn=free, by=authorizer.SYSTEM, channel="test")
    assert bootstrap.run().created_urns == [free]


def test_restricted_leaves_everybody_two_privileges():
    bootstrap.run()
    assert privileges(EVERYBODY) > SHIPPED_PRIVILEGES
    assert bootstrap.run(is_restricted=True).rewritten_urns == [EVERYBODY]
    assert privileges(EVERYBODY) == SHIPPED_PRIVILEGES
    assert not active_policies.is_open_to_everybody()
    assert bootstrap.run().rewritten_urns == []
    assert bootstrap.run(is_restricted=True).rewritten_urns == []
    assert privileges(EVERYBODY) == SHIPPED_PRIVILEGES


def test_restricted_from_the_start():
    bootstrap.run(is_restricted=True)
    assert privileges(EVERYBODY) == SHIPPED_PRIVILEGES


def test_the_policy_for_everybody_says_what_it_gives_here():
    def said() -> str:
        return str(Policy.objects.get(urn=EVERYBODY).document["description"])

    bootstrap.run()
    assert said().startswith(
        "Gives everybody every platform privilege except Manage Guardrails, Manage Warehouses and View Events, "
    )
    right = ""
    for is_restricted in (False, True):
        bootstrap.run(is_restricted=is_restricted)
        right = said()
        document = Policy.objects.get(urn=EVERYBODY).document | {"description": "Gives everybody everything."}
        draft = policy_drafts.PolicyInput("datahub", document)
        policies.update(urn=EVERYBODY, draft=draft, by=authorizer.SYSTEM, channel="bootstrap")
        assert bootstrap.run().rewritten_urns == [EVERYBODY], "what an earlier release said is corrected"
        assert said() == right
    assert right == "Gives everybody these platform privileges: Generate Personal Access Tokens and View Analytics."


def test_restricted_does_not_touch_what_somebody_edited():
    bootstrap.run()
    edit(EVERYBODY, description="Ours")
    assert bootstrap.run(is_restricted=True).rewritten_urns == []
    assert privileges(EVERYBODY) > SHIPPED_PRIVILEGES


def test_restricted_does_not_touch_what_somebody_opened_again(holding):
    """The text is the shipped one, but it is there because somebody here restored it."""
    bootstrap.run(is_restricted=True)
    by = holding("MANAGE_POLICIES")
    opened = bootstrap.build_document(
        next(one for one in bootstrap._load_fixture("boot_policies") if one["urn"] == EVERYBODY)
    )
    policies.update(urn=EVERYBODY, draft=policy_drafts.PolicyInput("datahub", opened), by=by, channel="test")
    assert bootstrap.run(is_restricted=True).rewritten_urns == []
    assert privileges(EVERYBODY) > SHIPPED_PRIVILEGES


def test_what_people_switched_off_or_deleted_stays_so(holding):
    bootstrap.run()
    by = holding("MANAGE_POLICIES")
    prefix = "urn:li:dataHubPolicy:"
    off, gone = (f"{prefix}editor-metadata-policy", f"{prefix}editor-platform-policy"), f"{prefix}view-entity-page-all"
    for urn in off:
        policies.set_state(urn=urn, state="INACTIVE", by=by, channel="test")
    edit(off[0], privileges=[])
    fixed = f"{prefix}reader-platform-policy"
    for urn in (gone, fixed):
        policies.delete(urn=urn, by=by, channel="test")
    done = bootstrap.run(is_restricted=False)
    assert (done.created_urns, done.rewritten_urns) == ([], [off[0]])
    assert set(Policy.objects.filter(urn__in=off).values_list("state", flat=True)) == {"INACTIVE"}
    assert privileges(off[0])
    assert not Policy.objects.filter(urn__in=[gone, fixed]).exists()


@pytest.mark.parametrize(
    ("is_default", "words", "is_restricted"),
    [(True, [], True), (False, [], False), (True, ["--open"], False), (False, ["--restricted"], True)],
)
def test_the_command_follows_the_installation_unless_it_is_told_otherwise(settings, is_default, words, is_restricted):
    settings.BOOTSTRAP_RESTRICTED = is_default
    out = StringIO()
    call_command("bootstrap", *words, stdout=out)
    assert (privileges(EVERYBODY) == SHIPPED_PRIVILEGES) is is_restricted
    assert ("Everybody who can sign in holds every platform privilege" in out.getvalue()) is not is_restricted


def test_open_does_not_widen_what_is_restricted(settings):
    settings.BOOTSTRAP_RESTRICTED = True
    call_command("bootstrap", stdout=StringIO())
    call_command("bootstrap", "--open", stdout=StringIO())
    assert privileges(EVERYBODY) == SHIPPED_PRIVILEGES


def test_the_password_comes_from_the_setting_while_it_is_the_shipped_one(settings):
    bootstrap.run()
    settings.AUTHZ_ROOT_PASSWORD = "something else entirely"
    assert bootstrap.run().rewritten_urns == [ROOT]
    assert User.objects.get(urn=ROOT).check_password("something else entirely")
    last = ChangeEvent.objects.filter(object_urn=ROOT).latest("id")
    assert (last.verb, last.by, last.door) == ("PASSWORD_SET", SYSTEM_ACTOR, "bootstrap")
    users.set_password(urn=ROOT, password="my own good words", by=authorizer.SYSTEM, channel="test")
    assert bootstrap.run().rewritten_urns == []
    assert User.objects.get(urn=ROOT).check_password("my own good words")


def test_the_root_users_own_edits_stay():
    bootstrap.run()
    users.update(urn=ROOT, display_name="Boss", by=authorizer.SYSTEM, channel="test")
    bootstrap.run()
    assert users_groups_roles.get_user(urn=ROOT).name == "Boss"


def test_what_nobody_may_do_to_it(holding):
    bootstrap.run()
    by = holding("MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS")
    for suffix in ("0", "1", "datazone-admin"):
        with pytest.raises(Forbidden):
            policies.delete(urn=f"urn:li:dataHubPolicy:{suffix}", by=by, channel="test")
    for suffix in ("0", "1"):
        with pytest.raises(Forbidden):
            policies.set_state(urn=f"urn:li:dataHubPolicy:{suffix}", state="INACTIVE", by=by, channel="test")
    with pytest.raises((Forbidden, Conflict)):
        roles.delete(urn="urn:li:dataHubRole:Admin", by=by, channel="test")
    with pytest.raises(Forbidden):
        users.remove(urn=ROOT, by=by, channel="test")


def test_hooks_of_other_apps_are_part_of_it(settings):
    settings.REGISTRIES = settings.REGISTRIES | {"bootstrap_hooks": {"note": f"{__name__}.note_call"}}
    called_by.clear()
    bootstrap.run()
    assert called_by == [SYSTEM_ACTOR]


def test_the_command_says_what_it_did():
    out = StringIO()
    call_command("bootstrap", "--restricted", stdout=out)
    call_command("bootstrap", "--open", stdout=out)
    assert out.getvalue().splitlines() == ["21 created, 0 updated.", "0 created, 0 updated."]
    assert privileges(EVERYBODY) == SHIPPED_PRIVILEGES


FILTERS: list[tuple[dict[str, str], int]] = [
    ({}, 17),
    ({"q": "reader"}, 2),
    ({"q": "\x00"}, 0),
    ({"family": "datahub"}, 16),
    ({"family": "datazone"}, 1),
    ({"type": "PLATFORM"}, 5),
    ({"state": "INACTIVE"}, 0),
    ({"actor": ROOT}, 3),
    ({"actor": "urn:li:dataHubRole:Editor", "type": "PLATFORM"}, 1),
    ({"actor": "*"}, 3),
    ({"privilege": "MANAGE_POLICIES"}, 3),
    ({"privilege": "MANAGE_POLICIES", "actor": "urn:li:dataHubRole:Admin"}, 1),
    ({"privilege": "manage_policies"}, 0),
    ({"resource": "glossaryNode"}, 1),
    ({"resource": "*", "privilege": "*:*"}, 1),
    ({"resource": "\ud800"}, 0),
]


def test_policies_are_listed_by_filter():
    bootstrap.run()
    assert [policy_queries.list_policies(**filters).count() for filters, _ in FILTERS] == [
        count for _, count in FILTERS
    ]
    assert active_policies.list_active_policies().count() == 17


def test_one_policy_and_its_versions():
    bootstrap.run()
    edit(EVERYBODY, description="Ours")
    policy = policy_queries.get_policy(urn=EVERYBODY)
    assert (policy.version, policy.description) == (2, "Ours")
    assert [event.version for event in policy_queries.list_versions(urn=EVERYBODY)] == [2, 1]
    assert not policy_queries.list_versions(urn="\x00").exists()
    assert display_names.load_names(urns=[EVERYBODY]) == {EVERYBODY: policy.name}
