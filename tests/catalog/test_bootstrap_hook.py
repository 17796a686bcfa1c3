"""The ownership types that every installation starts with."""

import json
from typing import Any

import pytest

from catalog.access import aspect_documents
from catalog.entities import bootstrap
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Aspect, Entity
from policies import bootstrap as whole
from policies.pdp import authorizer
from policies.registries import load_entries

URN = "urn:li:ownershipType:__system__technical_owner"

pytestmark = pytest.mark.django_db


def info() -> dict[str, Any]:
    """What is stored of the ownership type."""
    found = aspect_documents.load_aspect(urn=URN, name="ownershipTypeInfo")
    assert found is not None
    value: dict[str, Any] = found.value
    return value


def test_bootstrap_writes_them_and_running_it_again_changes_nothing():
    assert bootstrap.write_ownership_types in load_entries("bootstrap_hooks").values()
    whole.run()
    types = Entity.objects.filter(type="ownershipType")
    assert {row.name for row in types} == {"Technical Owner", "Business Owner", "Data Steward", "None"}
    said = info()
    assert said["created"] == said["lastModified"]
    assert said["created"]["actor"] == authorizer.SYSTEM.urn
    before = list(Aspect.objects.order_by("pk").values_list("pk", "document", "version"))
    whole.run()
    assert list(Aspect.objects.order_by("pk").values_list("pk", "document", "version")) == before


def test_what_somebody_here_wrote_stays(holding):
    bootstrap.write_ownership_types(by=authorizer.SYSTEM)
    changed = {**info(), "name": "Techie"}
    proposal = Proposal(URN, "ownershipTypeInfo", json.dumps(changed))
    apply.apply(proposals=[proposal], by=holding("EDIT_ENTITY"), channel="test")
    bootstrap.write_ownership_types(by=authorizer.SYSTEM)
    assert info() == changed


def test_what_an_earlier_release_wrote_comes_back_and_what_was_added_stays():
    bootstrap.write_ownership_types(by=authorizer.SYSTEM)
    first = info()
    changed = {**first, "name": "Techie", "colour": "red"}
    apply.apply(
        proposals=[Proposal(URN, "ownershipTypeInfo", json.dumps(changed))], by=authorizer.SYSTEM, channel="test"
    )
    bootstrap.write_ownership_types(by=authorizer.SYSTEM)
    said = info()
    assert (said["name"], said["colour"], said["created"]) == ("Technical Owner", "red", first["created"])
