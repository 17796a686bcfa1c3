"""What a refusal of a granted privilege lacked, and who could give it (rules/cdap.md CD-7, CD-18, CD-22)."""

import re
from urllib.parse import quote

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from policies.engine.requirements import privilege_requirement
from policies.identity.services import groups, users
from policies.models import User
from policies.pdp import actor_resolution, authorizer, explanations
from policies.pdp.access_requests import AccessRequest, ResourceRef
from tests.cdap.conftest import DOOR, INSTANCE, ROOT, give, may, register, urn

CLICKS, NS = urn("stream:ns1.clicks"), urn("namespace:ns1")


@pytest.fixture
def jo(client_of):
    """Jo, who holds WRITE on a stream that Mara and the group `ops` administer."""
    register("namespace:ns1", "stream:ns1.clicks")
    client_of("mara")
    groups.create(identifier="ops", name="Operations", members=[], by=authorizer.SYSTEM, channel=DOOR)
    give("mara", CLICKS, "ADMIN")
    give("group:ops", "stream:ns1.*", "ADMIN")
    client = client_of("jo")
    give("jo", CLICKS, "WRITE")
    return client


def near(client, operation="stream.get", entity=CLICKS, **more):
    """Return (what is lacking, what is held there, who could give it) of each near miss."""
    found = may(client, operation, entity, explain=True, **more)["nearest"]
    assert all(len(each["lacks"]) == 1 and each["effect"] == "allow" for each in found)
    return [(each["lacks"][0]["detail"], each["because"], each["lacks"][0]["who"]) for each in found]


def test_each_missing_pair_is_named_with_who_could_give_it_cd_7(jo):
    assert near(jo) == [
        (
            "Jo does not hold READ on the stream ns1.clicks.",
            "Jo holds WRITE on it.",
            [urn("group:ops"), urn("mara"), ROOT],
        ),
        ("Jo does not hold READ on the namespace ns1.", "", [ROOT]),
    ]
    (lack,) = may(jo, "stream.get", CLICKS, explain=True)["nearest"][0]["lacks"]
    assert lack["part"] == "actor"
    assert lack["changed_by"] == {"entity": CLICKS, "privilege": "ADMIN"}


def test_what_was_given_is_lacking_no_more_and_an_allow_lacks_nothing(jo):
    give("jo", NS, "READ")
    assert [said for said, _, _ in near(jo)] == ["Jo does not hold READ on the stream ns1.clicks."]
    give("jo", CLICKS, "READ")
    assert near(jo) == []


def test_who_may_not_act_could_not_give_it_cd_19(jo):
    users.suspend(urn=urn("mara"), by=authorizer.SYSTEM, channel=DOOR)
    groups.remove(urn=urn("group:ops"), by=authorizer.SYSTEM, channel=DOOR)
    assert near(jo)[0][2] == [ROOT]


def test_administrators_of_the_instance_could_give_it_anywhere_cd_18(jo, settings):
    settings.CDAP_INSTANCE_ADMINS = ["mara", "nobody-of-this-name", urn("group:ops")]
    assert near(jo)[1][2] == [urn("group:ops"), urn("mara")]
    assert near(jo, "namespace.create", urn("namespace:ns2")) == [
        ("Jo does not hold WRITE on the instance cdap.", "", [urn("group:ops"), urn("mara")])
    ]


def test_a_lone_privilege_is_explained_alike(jo):
    asked = {"privilege": "EXECUTE", "resource": {"urn": CLICKS}, "explain": True}
    (found,) = jo.post("/api/v1/authorize", asked, format="json").json()["nearest"]
    assert found["lacks"][0]["detail"] == "Jo does not hold EXECUTE on the stream ns1.clicks."
    assert found["lacks"][0]["who"][:2] == [urn("group:ops"), urn("mara")]


def test_an_entity_that_is_hidden_keeps_to_itself_who_administers_it_cd_22(jo, client_of, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    stranger, nowhere = client_of("sven"), urn("stream:ns2.nowhere")
    assert near(stranger) == near(stranger, entity=nowhere) == []
    assert near(jo)[0][2] == [urn("group:ops"), urn("mara"), ROOT]
    # Its parent may be told of; an application that is hidden tells nobody.
    register("application:ns1.app", "program:ns1.app.run")
    give("mara", urn("application:ns1.app"), "ADMIN")
    give("sven", urn("program:ns1.app.run"), "READ")
    found = near(stranger, "program.get", urn("program:ns1.app.run"))
    assert [who for _, _, who in found] == [[]]


@pytest.mark.parametrize("entity", ["urn:li:tag:PII", "urn:li:stream:", "urn:li:stream:ns1.%00", f"urn:li:{'x' * 400}"])
def test_privileges_on_anything_else_are_no_error(jo, entity):
    asked = {"privilege": "READ", "resource": {"urn": entity}, "explain": True}
    answer = jo.post("/api/v1/authorize", asked, format="json")
    assert answer.status_code in (200, 400)


def browser(username):
    client = Client()
    client.force_login(User.objects.get(username=username), backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_the_page_and_the_command_say_the_same(jo, capsys):
    answer = browser("jo").get("/why", {"privilege": "READ", "resource": CLICKS})
    text = answer.content.decode()
    for said in (
        "Jo does not hold READ on the stream ns1.clicks.",
        "Jo holds WRITE on it.",
        "Operations, mara or datahub can change that.",
    ):
        assert said in text
    assert "__grants" not in text
    with pytest.raises(SystemExit):
        call_command("why", "jo", "READ", CLICKS)
    printed = capsys.readouterr().out
    assert (
        "lacking: Jo does not hold READ on the stream ns1.clicks. Operations, mara or datahub can change that."
        in printed
    )
    with pytest.raises(CommandError):
        call_command("why", "jo", "READ", "stream")


def test_the_page_does_not_say_that_a_hidden_entity_is_there_cd_22(jo, client_of, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    client_of("sven")
    nowhere = urn("stream:ns1.nothing")
    sven = browser("sven")
    pages = [sven.get("/why", {"privilege": "READ", "resource": one}) for one in (CLICKS, nowhere)]
    assert all("answer" not in page.context for page in pages)
    hidden, absent = (
        # A page has a token, and a time for paper, of its own.
        re.sub(
            r"[A-Za-z0-9]{64}|Printed [^<]+ UTC",
            "token",
            page.content.decode().replace(one, "asked").replace(quote(one), "asked"),
        )
        for page, one in zip(pages, (CLICKS, nowhere), strict=True)
    )
    assert "Nothing is known by" in hidden
    assert hidden == absent


def test_a_grant_that_decided_links_to_no_policy(jo, client_of):
    client_of("boss", "MANAGE_POLICIES")
    answer = browser("boss").get("/why", {"actor": "jo", "privilege": "WRITE", "resource": CLICKS}).context["answer"]
    assert [row["way"].policy_url for row in answer["reasons"]] == [""]
    assert INSTANCE not in str(answer["reasons"])


def test_explaining_many_costs_what_explaining_few_does(jo):
    actor = actor_resolution.load_actor(urn=urn("jo"))

    def cost(start, stop):
        names = [f"stream:ns1.s{number}" for number in range(start, stop)]
        register(*names)
        asks = [(actor, AccessRequest(privilege_requirement("READ"), ResourceRef(urn(name)))) for name in names]
        explanations.explain_answers(requests=asks)
        with CaptureQueriesContext(connection) as seen:
            found = explanations.explain_answers(requests=asks)
        assert all(len(each.near_misses) == 1 for each in found)
        return len(seen)

    assert cost(0, 2) == cost(2, 40)
