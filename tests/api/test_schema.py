"""The document that describes the API, and the page made of it."""

import jsonschema_rs
import pytest
from django.core.management import call_command
from django.utils import timezone

from catalog.entities import bootstrap
from policies.models import LoggedDecision, User
from policies.pdp import authorizer
from policies.pdp.log import decision_log_queries


def test_the_document_is_valid_and_without_warnings(tmp_path):
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "openapi.yaml"))


def test_everybody_may_read_it_and_every_operation_says_how_it_is_refused(client):
    document = client.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert {"/api/v1/authorize", "/api/v1/policies/{urn}/", "/api/v1/entities/"} <= document["paths"].keys()
    assert "/api/v1/policies" not in document["paths"]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            takes_body = "requestBody" in operation
            assert takes_body <= ({"413", "415"} <= operation["responses"].keys()), (method, path)
            refusals = {status: one for status, one in operation["responses"].items() if status >= "400"}
            assert {"400", "401", "403", "404", "405", "406", "429", "503"} <= refusals.keys(), (method, path)
            assert all(list(one["content"]) == ["application/problem+json"] for one in refusals.values())


@pytest.mark.django_db
@pytest.mark.parametrize("part", ["policies", "people", "decisions"])
def test_every_page_of_the_record_has_the_one_shape_that_is_described(manager, part):
    kept = LoggedDecision.objects.create(
        at=timezone.now(),
        actor="urn:li:corpuser:manager",
        is_allowed=False,
        policy_version=1,
        statements=[],
        sub_resources=[],
        milliseconds=0.5,
    )
    document = manager.get("/api/v1/openapi.json").json()
    responses = document["paths"]["/api/v1/audit/"]["get"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]
    past_the_end = (
        {"before": str(decision_log_queries.LogPosition.from_row(kept))} if part == "decisions" else {"page": 1_000}
    )
    for is_empty, filters in ((False, {}), (True, past_the_end)):
        answer = manager.get("/api/v1/audit/", {"of": part, **filters})
        assert (answer.status_code, not answer.json()["results"]) == (200, is_empty)
        jsonschema_rs.validate({**schema, "components": document["components"]}, answer.json())


@pytest.mark.django_db
def test_the_refusal_to_delete_the_instance_is_described(manager, stored):
    bootstrap.register_cdap_instance(by=authorizer.SYSTEM)
    stored("entities", privileges=["DELETE_ENTITY"], actors={"users": ["urn:li:corpuser:manager"]})
    deletion = "/api/v1/entities/{urn}/"
    answer = manager.delete(deletion.format(urn="urn:li:instance:cdap"))
    document = manager.get("/api/v1/openapi.json").json()
    assert answer.status_code == 409
    assert str(answer.status_code) in document["paths"][deletion]["delete"]["responses"]


@pytest.mark.django_db
def test_the_page_needs_a_caller_and_neither_script_nor_style_of_its_own(client):
    assert client.get("/api/v1/docs").status_code == 302
    user = User.objects.create(username="jo", urn="urn:li:corpuser:jo")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    page = client.get("/api/v1/docs")
    assert page.status_code == 200
    text = page.content.decode()
    assert "/api/v1/authorize/batch" in text
    assert "style=" not in text
    assert "<style" not in text


@pytest.mark.django_db
def test_the_page_names_the_values_of_a_parameter_in_words(client):
    user = User.objects.create(username="jo", urn="urn:li:corpuser:jo")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    text = " ".join(client.get("/api/v1/docs").content.decode().split())
    assert "* `ALLOW`" not in text
    assert "One of <code>ALLOW</code>, <code>DENY</code>" in text
    assert ">Granted privileges<" in text
