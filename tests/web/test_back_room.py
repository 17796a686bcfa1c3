"""The back room reads everything and repairs through services."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from policies import admin
from policies.authoring.services import policies
from policies.changes.pages.net_change_wording import NOBODY
from policies.errors import NotFound
from policies.identity.services import access_tokens
from policies.models import AccessToken, ChangeEvent, Policy, PolicyEvent, PolicyVersion, User
from policies.pdp import authorizer
from tests.web.conftest import DOOR, write_policies


def run(client, model: str, action: str, *rows):
    return client.post(f"/admin/policies/{model}/", chosen(action, *rows) | {"is_confirmed": "1"}, follow=True)


def chosen(action: str, *rows):
    return {"action": action, "_selected_action": [row.pk for row in rows]}


def test_every_table_and_row_can_be_read_and_none_written(browse, world, write):
    access_tokens.create(owner="urn:li:corpuser:otto", name="a token", by=authorizer.SYSTEM, channel=DOOR)
    client = browse("root")
    seen = 0
    for model in admin.site._registry:
        table = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        assert client.get(table, {"q": "x"}).status_code == 200
        assert client.get(f"{table}add/").status_code == 403
        row = model._default_manager.first()
        if row is not None:
            assert client.get(f"{table}{row.pk}/change/").status_code == 200
            assert client.post(f"{table}{row.pk}/change/", {}).status_code == 403
            assert client.post(f"{table}{row.pk}/delete/", {"post": "yes"}).status_code == 403
            seen += 1
    assert seen >= 8


def test_secrets_are_not_shown(browse, world):
    issued = access_tokens.create(owner="urn:li:corpuser:otto", name="a token", by=authorizer.SYSTEM, channel=DOOR)
    client = browse("root")
    digest = AccessToken.objects.get().digest
    root = User.objects.get(username="datahub")
    for address in (f"accesstoken/{issued.token.pk}/change/", "accesstoken/", f"user/{root.pk}/change/", "user/"):
        text = client.get(f"/admin/policies/{address}").content.decode()
        assert digest not in text
        assert root.password not in text
        assert issued.text not in text


def test_policies_are_switched_by_the_service(browse, world, write):
    policy, fixed = write("one"), Policy.objects.get(urn="urn:li:dataHubPolicy:0")
    version = PolicyVersion.load_version()
    page = run(browse("root"), "policy", "deactivate", policy, fixed)
    assert Policy.objects.get(pk=policy.pk).state == "INACTIVE"
    assert Policy.objects.get(pk=fixed.pk).state == "ACTIVE"
    assert PolicyVersion.load_version() == version + 1
    event = PolicyEvent.objects.get(policy_urn=policy.urn, verb="DEACTIVATED")
    assert (event.by, event.door) == ("urn:li:corpuser:datahub", "admin")
    assert f"{fixed.name} cannot be changed." in page.content.decode()
    run(browse("root"), "policy", "activate", policy)
    assert Policy.objects.get(pk=policy.pk).document["state"] == "ACTIVE"


def test_switching_policies_asks_first_and_says_who_gains_and_who_loses(browse, world, write):
    platform = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"]}
    rows = [write(f"p{number:02}", actors={"users": ["urn:li:corpuser:otto"]}, **platform) for number in range(12)]
    version = PolicyVersion.load_version()
    client = browse("root")
    lost = "Otto Outsider loses the platform privilege Manage Tags."
    for action, sentence in (("deactivate", lost), ("activate", NOBODY)):
        page = client.post("/admin/policies/policy/", chosen(action, *rows))
        text = " ".join(page.content.decode().split())
        assert escape(sentence) in text
        assert "and 2 more" in text
    assert PolicyVersion.load_version() == version


def test_the_question_counts_every_policy_that_is_switched(browse, world, write):
    """The text of one that is not editable is fixed, its state is not; a system policy keeps both."""
    rows = [write("free"), write("unedited", editable=False), Policy.objects.filter(is_system=True)[0]]
    client = browse("root")
    assert (
        "Deactivate 2 policies?" in client.post("/admin/policies/policy/", chosen("deactivate", *rows)).content.decode()
    )
    run(client, "policy", "deactivate", *rows)
    assert [Policy.objects.get(pk=row.pk).state for row in rows] == ["INACTIVE", "INACTIVE", "ACTIVE"]


def test_many_policies_are_switched_as_one_version_in_a_few_statements_or_none_is(browse, world, write):
    costs = []
    for size in (5, 60):
        write_policies({f"{size}-{number}": {} for number in range(size)})
        listed = list(Policy.objects.filter(urn__startswith=f"urn:li:dataHubPolicy:{size}-"))
        version = PolicyVersion.load_version()
        with CaptureQueriesContext(connection) as found:
            page = run(browse("root"), "policy", "deactivate", *listed)
        costs.append(len(found))
        assert f"{size} done. Saved as version {version + 1}." in page.content.decode()
        assert PolicyEvent.objects.filter(policy_version=version + 1, verb="DEACTIVATED").count() == size
        assert not Policy.objects.filter(pk__in=[one.pk for one in listed], state="ACTIVE").exists()
    assert costs[1] - costs[0] <= 6, costs
    Policy.objects.filter(facets__value="MANAGE_POLICIES").update(state="INACTIVE")
    manages = {"type": "PLATFORM", "privileges": ["MANAGE_POLICIES"]}
    only = write("only", **manages, actors={"users": ["urn:li:corpuser:datahub"]})
    page = run(browse("root"), "policy", "deactivate", only, write("other"))
    assert "None of 2: Nobody who can sign in could manage policies" in page.content.decode()
    assert Policy.objects.filter(urn__endswith="other", state="ACTIVE").exists()
    with pytest.raises(NotFound):
        policies.set_states(urns=["urn:li:dataHubPolicy:none"], state="ACTIVE", by=authorizer.SYSTEM, channel=DOOR)


def test_suspending_users_asks_first_and_says_who_loses_what(browse, world, write):
    platform = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"], "actors": {"users": ["urn:li:corpuser:otto"]}}
    write("tags", **platform)
    page = browse("root").post("/admin/policies/user/", chosen("suspend", world["outsider"], world["root"]))
    text = page.content.decode()
    assert "Suspend 2 users?" in text
    assert "Manage Tags" in text
    assert "Otto Outsider loses" in text
    assert User.objects.get(pk=world["outsider"].pk).state == "ACTIVE"


def test_users_are_suspended_by_the_service_and_root_never(browse, world):
    outsider, root = world["outsider"], world["root"]
    page = run(browse("root"), "user", "suspend", outsider, root)
    assert User.objects.get(pk=outsider.pk).state == "SUSPENDED"
    assert User.objects.get(pk=root.pk).state == "ACTIVE"
    assert ChangeEvent.objects.filter(object_urn=outsider.urn, verb="SUSPENDED", door="admin").count() == 1
    assert "done." in page.content.decode()
    run(browse("root"), "user", "reactivate", outsider)
    assert User.objects.get(pk=outsider.pk).state == "ACTIVE"


def test_tokens_are_revoked_by_the_service(browse, world):
    issued = access_tokens.create(owner="urn:li:corpuser:otto", name="a token", by=authorizer.SYSTEM, channel=DOOR)
    assert access_tokens.authenticate(text=issued.text) is not None
    run(browse("root"), "accesstoken", "revoke", issued.token)
    assert access_tokens.authenticate(text=issued.text) is None


@pytest.mark.parametrize(("is_staff", "holds", "status"), [(True, False, 403), (False, True, 403), (True, True, 200)])
def test_it_takes_a_staff_account_and_the_privilege(browse, world, is_staff, holds, status):
    name = "admin" if holds else "outsider"
    User.objects.filter(pk=world[name].pk).update(is_staff=is_staff)
    assert browse(name).get("/admin/").status_code == status
