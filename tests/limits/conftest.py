"""An installation with an object of each kind that bodies are sent about, and as many users as a list may name."""

import gc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from catalog.external_roles import services as external_role_services
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.guardrails.services import guardrails
from policies.identity.services import groups, service_accounts
from policies.models import GroupProfile, User
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer
from tests.api.conftest import document_of
from tests.doors.conftest import DOOR, ROOT, _bootstrapped, token_of

__all__ = ["_bootstrapped"]

#: How many users there are beside the root user, urn:li:corpuser:n0 being the first one, and how many datasets.
USERS, DATASETS = 10_000, 10_000

POLICY = "urn:li:dataHubPolicy:mine"
EXTERNAL_ROLE = "urn:li:role:reader"
GUARDRAIL = "urn:li:guardrail:tags"
GROUP = "urn:li:corpGroup:crew"
ROLE = "urn:li:dataHubRole:Reader"


def name_dataset(number: int) -> str:
    """Return the URN of a dataset; those below DATASETS are stored."""
    return f"urn:li:dataset:(urn:li:dataPlatform:p,t{number},PROD)"


@dataclass(frozen=True)
class Objects:
    """Objects that bodies are about: their ids, and the token of the root user."""

    token: str
    service_account: str
    #: Ids of SCIM: of a group, of a user, and of all members of the group.
    scim_group: str
    scim_members: list[str]


@pytest.fixture(scope="module")
def objects(_bootstrapped: None, django_db_blocker: Any) -> Objects:
    """Objects for the tests of a module, stored in the transaction of its bootstrap."""
    with django_db_blocker.unblock():
        names = [f"n{number}" for number in range(USERS)]
        rows = [User(username=name, urn=USER_PREFIX + name, email=f"{name}@a.co", created_by=ROOT) for name in names]
        User.objects.bulk_create(rows, batch_size=500)
        urns = [name_dataset(number) for number in range(DATASETS)]
        datasets = [Entity(urn=urn, type="dataset", object_id=f"{n:024x}") for n, urn in enumerate(urns)]
        Entity.objects.bulk_create(datasets, batch_size=500)
        robot = service_accounts.create(display_name="Robot", by=authorizer.SYSTEM, channel=DOOR)
        groups.create(name="Crew", identifier="crew", members=[], by=authorizer.SYSTEM, channel=DOOR)
        draft = policy_drafts.PolicyInput("datahub", document_of(displayName="Mine"))
        policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR, urn=POLICY)
        rule = {"at_least": {"number": 1, "privileges": ["MANAGE_TAGS"]}}
        guardrails.create(name="Tags", rule=rule, urn=GUARDRAIL, by=authorizer.SYSTEM, channel=DOOR)
        tag = Proposal("urn:li:tag:pii", "tagProperties", '{"name": "pii"}')
        apply.apply(proposals=[tag], by=authorizer.SYSTEM, channel=DOOR)
        role = external_role_services.ExternalRoleInput(name="Reader", type="READ")
        external_role_services.create(role_input=role, urn=EXTERNAL_ROLE, by=authorizer.SYSTEM, channel=DOOR)
        return Objects(
            token=token_of(ROOT),
            service_account=robot.urn,
            scim_group=str(GroupProfile.objects.get(urn=GROUP).scim_id),
            scim_members=[str(row.scim_id) for row in rows],
        )


@pytest.fixture
def client(objects: Objects, db: None) -> Client:
    """The root user's client; what fails is a 500 instead of an exception."""
    return Client(headers={"authorization": f"Bearer {objects.token}"}, raise_request_exception=False)


@pytest.fixture(autouse=True, scope="module")
def _few_objects(objects: Objects) -> Iterator[None]:
    """Keep what the tests have made so far out of the collector's way, as it is out of a server's."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
