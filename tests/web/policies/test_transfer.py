"""Out to a file and in from one: exactly, all or nothing, and with every problem at its place."""

import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.changes.pages.net_change_wording import NOBODY
from policies.engine.families.validity import Validity
from policies.models import Policy, PolicyEvent, PolicyFacet, PolicyVersion
from policies.pdp import authorizer
from tests.web.conftest import DOOR, document_of

BASE = "/settings/permissions/policies"
PREFIX = "urn:li:dataHubPolicy:"


def content(response):
    assert response.headers["Content-Disposition"].startswith("attachment; filename=")
    return json.loads(response.content)


def send(client, text, **more):
    return client.post(f"{BASE}/import", {"text": text if isinstance(text, str) else json.dumps(text), **more})


def confirm(client, response):
    return send(client, response.context["text"], seen=response.context["seen"])


def problems(response):
    assert response.status_code == 422
    return [(one.pointer, one.code) for one in response.context["problems"]]


@pytest.fixture
def some(world, write):
    write("a", displayName="Alpha", lastUpdatedTimestamp=7, state="INACTIVE")
    write("b", displayName="Beta", actors={"allUsers": True})


def test_what_goes_out_comes_in_again_exactly(browse, some):
    client = browse("root")
    file = client.get(f"{BASE}/export").content
    before = {policy.urn: json.dumps(policy.document) for policy in Policy.objects.filter(is_system=False)}
    version = PolicyVersion.load_version()
    seen = send(client, file.decode())
    assert [kind["label"] for kind in seen.context["kinds"]] == ["Stored exactly so; left alone"]
    for urn in (f"{PREFIX}a", f"{PREFIX}b"):
        policies.delete(urn=urn, by=authorizer.SYSTEM, channel=DOOR)
    seen = send(client, file.decode())
    assert next((kind["label"], kind["count"]) for kind in seen.context["kinds"]) == ("New", 2)
    assert confirm(client, seen).headers["Location"] == BASE
    assert {policy.urn: json.dumps(policy.document) for policy in Policy.objects.filter(is_system=False)} == before
    assert PolicyVersion.load_version() > version


def test_a_preview_says_who_gains_and_who_loses_by_all_of_the_file(browse, world, write):
    platform = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"]}
    policy = write("tags", displayName="Tags", actors={"users": ["urn:li:corpuser:otto"]}, **platform)
    moved = document_of(displayName="Tags", actors={"users": ["urn:li:corpuser:stella"]}, **platform)
    also = document_of(displayName="More tags", actors={"users": ["urn:li:corpuser:ada"]}, **platform)
    later = also | {"actors": {"users": ["urn:li:corpuser:otto"]}, "validFrom": "2999-01-01T00:00:00Z"}
    off = also | {"actors": {"users": ["urn:li:corpuser:otto"]}, "state": "INACTIVE"}
    seen = send(
        browse("root"), [{"urn": policy.urn, "document": moved}, *({"document": new} for new in (also, later, off))]
    )
    assert seen.context["effect"] == [
        "Otto Outsider loses the platform privilege Manage Tags.",
        "Stella Steward gains the platform privilege Manage Tags.",
    ]
    assert "Otto Outsider loses the platform privilege Manage Tags." in seen.content.decode()
    same = send(browse("root"), [{"urn": policy.urn, "document": policy.document}])
    assert same.context["effect"] is None


def test_a_preview_of_a_file_takes_the_time_of_a_stored_policy_into_account(browse, world):
    document = {
        "name": "Reads",
        "statements": [{"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"}],
        "roles": ["urn:li:dataHubRole:Reader"],
    }
    ended = Validity(None, timezone.now() - timedelta(days=1))
    draft = policy_drafts.PolicyInput("datazone", document, validity=ended)
    policy = policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy
    wider = {**document, "roles": ["urn:li:dataHubRole:Admin"]}
    entry = {"urn": policy.urn, "family": "datazone", "document": wider}
    assert send(browse("root"), [entry]).context["effect"] == [NOBODY]


def test_the_filters_of_the_list_choose_what_goes_out(browse, some):
    found = content(browse("root").get(f"{BASE}/export", {"state": "INACTIVE"}))
    assert [one["name"] for one in found["policies"]] == ["Alpha"]
    assert list(found["policies"][0]) == ["urn", "family", "name", "description", "state", "document"]
    one = content(browse("root").get(f"{BASE}/export/{PREFIX}b"))
    assert [entry["urn"] for entry in one["policies"]] == [f"{PREFIX}b"]
    page = browse("root").get(BASE, {"state": "INACTIVE", "q": "Al"}).content.decode()
    assert f'href="{BASE}/export?q=Al&amp;state=INACTIVE"' in page


@pytest.mark.parametrize("shape", ["document", "list", "entry", "entries", "boot", "file"])
def test_every_shape_of_a_file_is_read(browse, world, shape):
    document = document_of(displayName="New one")
    body = {
        "document": document,
        "list": [document],
        "entry": {"urn": f"{PREFIX}n", "document": document},
        "entries": {"policies": [{"document": document, "name": "New one", "state": "ACTIVE", "version": 3}]},
        "boot": [{"urn": f"{PREFIX}n", "info": document}],
        "file": {"policies": [document]},
    }[shape]
    client = browse("root")
    file = SimpleUploadedFile("policies.json", json.dumps(body).encode())
    seen = client.post(f"{BASE}/import", {"file": file})
    assert not Policy.objects.filter(name="New one").exists()
    assert confirm(client, seen).status_code == 302
    policy = Policy.objects.get(name="New one")
    assert policy.document == document
    assert policy_queries.list_versions(urn=policy.urn).get().by == "urn:li:corpuser:datahub"


def test_what_is_stored_is_replaced_after_the_question(browse, some):
    client = browse("root")
    seen = send(client, {"urn": f"{PREFIX}b", "document": document_of(displayName="Beta 2")})
    assert [(kind["label"], kind["count"]) for kind in seen.context["kinds"]] == [("Replaced", 1)]
    assert policy_queries.get_policy(urn=f"{PREFIX}b").name == "Beta"
    confirm(client, seen)
    assert policy_queries.get_policy(urn=f"{PREFIX}b").name == "Beta 2"


def test_a_file_of_datahub_keeps_a_deny_and_ours_replaces_it(browse, some):
    client, urn = browse("root"), f"{PREFIX}b"
    deny = document_of(
        displayName="Beta", effect="DENY", actors={"allUsers": True, "excludedUsers": ["urn:li:corpuser:x"]}
    )
    confirm(client, send(client, {"urn": urn, "document": deny}))
    plain = document_of(displayName="Beta 2", actors={"allUsers": True})
    confirm(client, send(client, [{"urn": urn, "info": plain}]))
    kept = policy_queries.get_policy(urn=urn).document
    assert (kept["displayName"], kept["effect"]) == ("Beta 2", "DENY")
    assert kept["actors"] == deny["actors"]
    confirm(client, send(client, {"urn": urn, "document": plain}))
    assert policy_queries.get_policy(urn=urn).document == plain


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"policies": [{"docum', [("", "json.invalid")]),
        ("\ufeffnothing", [("", "json.invalid")]),
        ('{"a": 1, "a": 2}', [("", "json.invalid")]),
        ("[" * 5000, [("", "json.deep")]),
        ("[]", [("", "import.empty")]),
        ('{"policies": []}', [("", "import.empty")]),
        ("[1]", [("/0", "type.object")]),
        ('"text"', [("", "type.object")]),
        ('{"document": {}, "odd": 1, "urn": 5}', [("/odd", "field.unknown"), ("/urn", "type.text")]),
        ('[{"document": {}, "family": "cobol"}]', [("/0/family", "family.unknown")]),
        ('{"displayName": "\\u0000"}', [("/displayName", "text.invalid")]),
    ],
)
def test_a_file_that_cannot_be_read_is_given_back_with_its_problems(browse, world, body, expected):
    before = Policy.objects.count()
    response = send(browse("root"), body)
    assert problems(response) == expected
    assert response.context["form"]["text"].value() == body
    assert Policy.objects.count() == before


def test_every_problem_is_named_with_its_place_and_nothing_is_stored(browse, some):
    bad = document_of(displayName="", privileges=["NO_SUCH"])
    body = {
        "policies": [
            {"document": document_of(displayName="Fine")},
            {"urn": "odd", "document": bad},
            {"urn": f"{PREFIX}x", "document": document_of(), "state": "INACTIVE", "name": "Other"},
            {"urn": f"{PREFIX}x", "document": document_of()},
            {"urn": f"{PREFIX}0", "document": document_of()},
        ]
    }
    response = send(browse("root"), body)
    assert problems(response) == [
        ("/policies/1/urn", "urn.invalid"),
        ("/policies/1/document/displayName", "blank"),
        ("/policies/1/document/privileges/0", "privilege.unknown"),
        ("/policies/2/state", "state.disagrees"),
        ("/policies/4/urn", "policy.fixed"),
    ]
    assert not Policy.objects.filter(name="Fine").exists()
    doubled = send(browse("root"), [{"urn": f"{PREFIX}x", "document": document_of()}] * 2)
    assert problems(doubled) == [("/1/urn", "urn.twice")]


def test_what_changed_between_the_question_and_the_answer_is_asked_again(browse, some):
    client = browse("root")
    seen = send(client, {"urn": f"{PREFIX}b", "document": document_of(displayName="Beta 2")})
    draft = policy_drafts.PolicyInput("datahub", document_of(displayName="Theirs"))
    policies.update(urn=f"{PREFIX}b", draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    again = confirm(client, seen)
    assert again.status_code == 409
    assert "Somebody changed these policies meanwhile." in again.content.decode()
    assert policy_queries.get_policy(urn=f"{PREFIX}b").name == "Theirs"
    assert confirm(client, again).status_code == 302
    assert policy_queries.get_policy(urn=f"{PREFIX}b").name == "Beta 2"


def test_one_refusal_undoes_the_whole_file(browse, world, write):
    """The last manager's policy among the replaced ones: nothing of the file is stored."""
    Policy.objects.filter(facets__value="MANAGE_POLICIES").delete()
    write(
        "only",
        displayName="Only",
        type="PLATFORM",
        privileges=["MANAGE_POLICIES"],
        actors={"users": ["urn:li:corpuser:datahub"]},
    )
    client = browse("root")
    body = [
        {"document": document_of(displayName="Before it")},
        {
            "urn": f"{PREFIX}only",
            "document": document_of(displayName="Only", type="PLATFORM", privileges=["MANAGE_TAGS"]),
        },
    ]
    response = confirm(client, send(client, body))
    assert response.status_code == 409
    assert "Nobody who can sign in could manage policies" in response.content.decode()
    assert not Policy.objects.filter(name="Before it").exists()


def test_the_power_over_policies_may_pass_from_one_to_another_of_the_same_file(browse, world, write):
    Policy.objects.filter(facets__value="MANAGE_POLICIES").delete()
    manages = {"type": "PLATFORM", "actors": {"users": ["urn:li:corpuser:datahub"]}}
    write("only", displayName="Only", privileges=["MANAGE_POLICIES"], **manages)
    body = [
        {"urn": f"{PREFIX}only", "document": document_of(displayName="Only", privileges=["MANAGE_TAGS"], **manages)},
        {"urn": f"{PREFIX}next", "document": document_of(displayName="N", privileges=["MANAGE_POLICIES"], **manages)},
    ]
    client = browse("root")
    assert confirm(client, send(client, body)).status_code == 302
    assert policy_queries.get_policy(urn=f"{PREFIX}only").version == 2


def test_a_file_is_one_version_and_costs_a_few_statements_for_any_number_of_policies(browse, world):
    """New ones and replaced ones: 190 policies more are a few batches of rows more, and the same number of looks."""

    def body(size, version):
        urns = [f"{PREFIX}{size}-{number}" for number in range(size)]
        actors = {"users": [f"urn:li:corpuser:{version}"], "roles": ["urn:li:dataHubRole:Admin"]}
        tags = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:a", f"urn:li:tag:{version}"]}]}}
        return [{"urn": urn, "document": document_of(displayName=urn, actors=actors, resources=tags)} for urn in urns]

    client = browse("root")
    costs: dict[int, list[int]] = {10: [], 200: []}
    for size, found in costs.items():
        for version in (1, 2):
            seen = send(client, body(size, version))
            before = PolicyVersion.load_version()
            with CaptureQueriesContext(connection) as statements:
                assert confirm(client, seen).status_code == 302
            found.append(len(statements))
            assert PolicyVersion.load_version() == before + 1
            stored = Policy.objects.filter(urn__startswith=f"{PREFIX}{size}-")
            assert {policy.version for policy in stored} == {version}
            assert [len({*stored.values_list("urn", flat=True)}), stored.count()] == [size, size]
            facets = PolicyFacet.objects.filter(policy__in=stored)
            assert facets.filter(value=f"urn:li:tag:{version}").count() == size
            assert facets.filter(value__in=["urn:li:tag:1", "urn:li:tag:2"]).count() == size
            events = PolicyEvent.objects.filter(policy_version=before + 1)
            assert events.count() == size
            assert all((one.before is None) == (version == 1) for one in events)
    more = [many - few for few, many in zip(costs[10], costs[200], strict=True)]
    assert max(more) <= 12, costs
    assert max(costs[10]) <= 40, costs


def test_an_empty_form_says_what_is_needed(browse, world):
    response = browse("root").post(f"{BASE}/import", {"text": "  "})
    assert response.status_code == 422
    assert "Choose a file, or paste what is in it." in response.content.decode()
    response = browse("root").post(f"{BASE}/import", {"file": SimpleUploadedFile("x", b"\xff\xfe{")})
    assert problems(response) == [("", "json.invalid")]
