"""A catalog written through its service, and actors with policies, for the tests of this room."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from catalog.ingest import apply
from catalog.ingest.apply import ApplyResult, Proposal
from catalog.models import Ancestry, Aspect, Entity, Facet
from policies.authoring.services import policies, policy_drafts
from policies.engine.model import Actor
from policies.identity.services import users
from policies.pdp import actor_resolution, authorizer, snapshot_store

DOOR = "test"


@pytest.fixture(autouse=True)
def _fresh_snapshot() -> Iterator[None]:
    snapshot_store.reset()
    yield
    snapshot_store.reset()


def said(urn: str, aspect: str, document: object = None, **more: Any) -> Proposal:
    """Return a proposal; the document is text, or anything that JSON can say."""
    text = document if isinstance(document, str) or document is None else json.dumps(document)
    return Proposal(urn, aspect, text, **more)


def tell(*found: Proposal, by: Actor = authorizer.SYSTEM, **more: Any) -> ApplyResult:
    """Write proposals, as the system unless told."""
    return apply.apply(proposals=found, by=by, channel=DOOR, **more)


def owners(*found: str) -> dict:
    """Return an ownership document: `owner` or `owner|type URN`."""
    entries = [entry.partition("|") for entry in found]
    return {"owners": [{"owner": owner, **({"typeUrn": kind} if kind else {})} for owner, _, kind in entries]}


def tags(*names: str) -> dict:
    """Return a globalTags document."""
    return {"tags": [{"tag": f"urn:li:tag:{name}"} for name in names]}


def facets(urn: str) -> set[tuple[str, str, str]]:
    """Return the facets of an entity, without the words of its name."""
    rows = Facet.objects.filter(entity__urn=urn).exclude(field="WORD")
    return set(rows.values_list("field", "value", "type"))


def projection() -> tuple[set, set, set]:
    """Return everything that follows from documents."""
    return (
        set(Entity.objects.values_list("urn", "name", "parent", "is_removed")),
        set(Facet.objects.values_list("entity__urn", "field", "value", "type")),
        set(Ancestry.objects.values_list("node", "ancestor")),
    )


def stored() -> tuple[set, list]:
    """Return everything in the catalog."""
    rows = Aspect.objects.order_by("entity__urn", "name", "version")
    return (
        set(Entity.objects.values_list("urn", "object_id", "project")),
        list(rows.values_list("entity__urn", "name", "version", "document", "system_metadata")),
    )


@contextmanager
def undone() -> Iterator[None]:
    """Take back everything that is written inside: one example of a property leaves nothing to the next."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.fixture
def holding(db: None) -> Callable[..., Actor]:
    """Make a user who holds these privileges: on everything, on what a resources block covers, or on the platform."""

    def make(*privileges: str, username: str = "holder", **document: object) -> Actor:
        urn = users.create(username=username, by=authorizer.SYSTEM, channel=DOOR).urn
        give(urn, *privileges, **document)
        return actor_resolution.load_actor(urn=urn)

    return make


def give(urn: str, *privileges: str, **document: object) -> None:
    """Store a policy that gives a user these privileges; `resources=None` is on everything."""
    whole = {
        "displayName": f"What {urn} may do",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "editable": True,
        "privileges": list(privileges),
        "actors": {"users": [urn]},
    } | document
    policies.create(draft=policy_drafts.PolicyInput("datahub", whole), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.reset()
