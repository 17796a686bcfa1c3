"""The document that describes the API, and the page made of it."""

import pytest
from django.core.management import call_command

from policies.models import User


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
