"""The time in which a policy counts: written in the builder, kept as it was written, and said everywhere."""

import json
from datetime import UTC, datetime

import pytest
from django.urls import reverse

from policies.authoring.pages import datahub_wording, validity_fields
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Validity
from policies.models import Policy
from policies.pdp import authorizer
from tests.web.conftest import DOOR, document_of
from tests.web.policies.writing import BASE, Builder


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("2026-12-01T00:00:00Z", None),
        (None, "2999-12-01T01:30:00+02:00"),
        (1764547200123, 32503680000000),
        ("2026-12-01T00:00:30.123456Z", "2999-12-01T00:00Z"),
    ],
)
def test_the_steps_and_saving_keep_times_as_they_were_written(browse, world, write, begins, ends):
    policy = write("kept", validFrom=begins, validUntil=ends)
    before = json.dumps(policy.document)
    for path in (f"edit/{policy.urn}", f"new?like={policy.urn}"):
        builder = Builder(browse("root"), f"{BASE}/{path}")
        for go in ("2", "3", "1"):
            builder.press(go)
        assert builder.press("save", name="A policy", state="ACTIVE").status_code == 302
    assert [json.dumps(copy.document) for copy in Policy.objects.filter(name="A policy")] == [before, before]


def test_times_are_written_and_taken_back(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new?template=ownership")
    builder.press("refresh", validFrom="2026-12-01T08:30", validUntil="2999-01-01T00:00:10")
    assert "In effect from 1 Dec 2026, 08:30 UTC until 1 Jan 2999, 00:00:10 UTC." in builder.text
    builder.press("save", name="Timed")
    policy = Policy.objects.get(name="Timed")
    assert (policy.document["validFrom"], policy.document["validUntil"]) == (
        "2026-12-01T08:30:00Z",
        "2999-01-01T00:00:10Z",
    )
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    builder.press("save", validFrom="")
    document = policy_queries.get_policy(urn=policy.urn).document
    assert "validFrom" not in document
    assert document["validUntil"] == "2999-01-01T00:00:10Z"
    history = browse("root").get(f"{BASE}/history/{policy.urn}")
    (change,) = (row["change"] for row in history.context["rows"][0]["changes"])
    assert (change.label, change.old_value, change.new_value) == ("Begins", "1 Dec 2026, 08:30 UTC", "")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"validFrom": "tomorrow"}, "validFrom"),
        ({"validUntil": "12026-01-01T00:00"}, "validUntil"),
        ({"validFrom": "2026-12-02T00:00", "validUntil": "2026-12-01T00:00"}, "validUntil"),
    ],
)
def test_a_wrong_time_is_said_at_its_field(browse, world, changes, field):
    builder = Builder(browse("root"), f"{BASE}/new?template=ownership")
    builder.press("save", name="Timed", **changes)
    assert builder.is_refused
    assert builder.response.context["notes"][field]["errors"]
    assert f'value="{changes[field]}"' in builder.text


def test_an_end_in_the_past_is_noted(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new?template=ownership")
    builder.press("refresh", name="Timed", validUntil="2020-01-01T00:00")
    assert builder.response.context["notes"]["validUntil"]["lints"]


def test_lists_and_pages_say_what_does_not_count_now(browse, world, write):
    write("later", displayName="Timed later", validFrom="2999-01-01T00:00:00Z")
    write("ended", displayName="Timed before", validUntil="2020-01-01T00:00:00Z", effect="DENY")
    write("now", displayName="Timed now", validUntil="2999-01-01T00:00:00Z")
    statements = [{"effect": "allow", "resource": "dataset:*", "actions": ["dataset:read"]}]
    document = {"name": "Timed zone", "roles": ["urn:li:dataHubRole:Reader"], "statements": statements}
    draft = PolicyInput("datazone", document, validity=Validity(ends=datetime(2020, 1, 1, tzinfo=UTC)))
    urn = policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy.urn
    rows = browse("root").get(BASE, {"q": "Timed"}).context["rows"]
    labels = {row["policy"].name: row["phase"] and row["phase"]["label"] for row in rows}
    assert labels == {"Timed later": "Begins later", "Timed before": "Ended", "Timed now": None, "Timed zone": "Ended"}
    page = browse("root").get(f"{BASE}/{urn}")
    facts = {fact["label"]: fact for fact in page.context["facts"]}
    assert facts["Counts"]["value"] == "until 1 Jan 2020, 00:00 UTC"
    assert [badge["label"] for badge in facts["State"]["badges"]] == ["Active", "Ended"]
    policies.update(
        urn=urn,
        draft=PolicyInput("datazone", document, validity=Validity(begins=datetime(2021, 1, 1, tzinfo=UTC))),
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    history = browse("root").get(f"{BASE}/history/{urn}")
    assert {row["label"] for row in history.context["rows"][0]["changes"]} == {"Begins", "Ends"}


def test_a_conflict_says_nothing_of_times_that_saving_keeps(browse, world):
    statements = [{"effect": "allow", "resource": "dataset:*", "actions": ["dataset:read"]}]
    document = {"name": "Zone", "roles": ["urn:li:dataHubRole:Reader"], "statements": statements}
    validity = Validity(ends=datetime(2999, 1, 1, tzinfo=UTC))
    draft = PolicyInput("datazone", document, validity=validity)
    policy = policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy
    address = reverse("datazone-edit", args=[policy.urn])
    mine, theirs = Builder(browse("root"), address), Builder(browse("admin"), address)
    theirs.press("save", name="By Ada")
    mine.press("save", description="Mine")
    conflict = mine.response.context["conflict"]
    assert {row["label"] for row in conflict["between"]} == {"Name", "Description"}
    assert {row["label"] for row in conflict["you"]} == {"Description"}
    mine.press("takeover")
    assert policy_queries.get_policy(urn=policy.urn).validity == validity


@pytest.fixture
def zone(world):
    statements = [{"effect": "allow", "resource": "dataset:*", "actions": ["dataset:read"]}]
    document = {"name": "Zone", "roles": ["urn:li:dataHubRole:Reader"], "statements": statements}
    draft = PolicyInput("datazone", document, validity=Validity(ends=datetime(2999, 1, 1, 8, 30, 0, 5000, tzinfo=UTC)))
    return policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy


def test_times_beside_a_document_are_written_changed_and_taken_back(browse, zone):
    builder = Builder(browse("root"), reverse("datazone-edit", args=[zone.urn]))
    assert dict(builder.form.fields)["valid_until"] == "2999-01-01T08:30:00.005"
    builder.press("add", valid_from="2998-01-01T00:00")
    assert dict(builder.form.fields)["valid_from"] == "2998-01-01T00:00", "a button loses nothing"
    builder.press("remove:1")
    assert builder.press("save").status_code == 302
    stored = policy_queries.get_policy(urn=zone.urn)
    assert (stored.validity, stored.phase) == (
        Validity(datetime(2998, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, 8, 30, 0, 5000, tzinfo=UTC)),
        "PENDING",
    )
    builder = Builder(browse("root"), reverse("datazone-edit", args=[zone.urn]))
    builder.press("save", valid_from="", valid_until="")
    stored = policy_queries.get_policy(urn=zone.urn)
    assert (stored.validity, stored.phase) == (Validity(), "CURRENT")
    builder = Builder(browse("root"), reverse("datazone-new"))
    typed = {"name": "Second zone", "s0_actions": ["dataset:read"], "roles": ["urn:li:dataHubRole:Reader"]}
    builder.press("save", valid_until="2999-01-01T00:00", **typed)
    assert Policy.objects.get(name="Second zone").validity == Validity(ends=datetime(2999, 1, 1, tzinfo=UTC))


def test_a_form_without_times_keeps_those_that_are_stored(browse, zone):
    builder = Builder(browse("root"), reverse("datazone-edit", args=[zone.urn]))
    builder.press("save", valid_from=None, valid_until=None, description="Mine")
    stored = policy_queries.get_policy(urn=zone.urn)
    assert (stored.description, stored.validity) == ("Mine", zone.validity)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"valid_from": "tomorrow"}, "valid_from"),
        ({"valid_until": "12026-01-01T00:00"}, "valid_until"),
        ({"valid_from": "2999-12-02T00:00", "valid_until": "2999-12-01T00:00"}, "valid_until"),
    ],
)
def test_a_wrong_time_beside_a_document_is_said_at_its_field(browse, zone, changes, field):
    builder = Builder(browse("root"), reverse("datazone-edit", args=[zone.urn]))
    builder.press("save", **changes)
    assert builder.is_refused
    fields = {time["name"]: time for time in builder.response.context["times"]}
    assert fields[field]["notes"]["errors"]
    assert fields[field]["text"] == changes[field]
    assert not builder.response.context["general"]
    assert policy_queries.get_policy(urn=zone.urn).version == zone.version


def test_a_copy_keeps_the_times(browse, zone):
    copied = browse("root").post(reverse("policy-duplicate", args=[zone.urn]))
    assert copied.status_code == 302
    assert Policy.objects.get(name="Copy of Zone").validity == zone.validity
    builder = Builder(browse("root"), f"{reverse('datazone-new')}?like={zone.urn}")
    assert dict(builder.form.fields)["valid_until"] == "2999-01-01T08:30:00.005"


def test_a_conflict_shows_times_that_both_wrote(browse, zone):
    address = reverse("datazone-edit", args=[zone.urn])
    mine, theirs = Builder(browse("root"), address), Builder(browse("admin"), address)
    theirs.press("save", valid_until="")
    mine.press("save", valid_from="2998-01-01T00:00")
    conflict = mine.response.context["conflict"]
    assert {row["label"] for row in conflict["they"]} == {"Ends"}
    assert {row["label"] for row in conflict["you"]} == {"Begins"}
    assert {row["label"] for row in conflict["between"]} == {"Begins", "Ends"}


def test_the_sentence_says_when_before_it_says_that_it_is_inactive(world):
    document = document_of(validUntil="2027-01-01T00:00:00+01:00", state="INACTIVE")
    assert datahub_wording.describe_policy(document).endswith(
        "In effect until 31 Dec 2026, 23:00 UTC. It is not active, so it grants nothing."
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-12-01T00:00", "2026-12-01T00:00:00Z"),
        ("2026-12-01T00:00:01.5", "2026-12-01T00:00:01.500Z"),
        ("2026-12-01T00:00+01:00", "2026-12-01T00:00+01:00"),
        ("soon", "soon"),
    ],
)
def test_fields_become_times_of_documents(text, value):
    assert validity_fields.parse_field(text) == value
