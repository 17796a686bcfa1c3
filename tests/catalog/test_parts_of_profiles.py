"""Profiles of people and groups are edited part by part: how somebody is presented, and how one reaches them."""

from collections.abc import Callable

import pytest

from policies.engine.model import Actor
from policies.errors import Forbidden
from policies.identity.services import groups, users
from policies.models import documents
from policies.pdp import authorizer
from tests.catalog.conftest import DOOR, give, said, tell

pytestmark = pytest.mark.django_db

Holding = Callable[..., Actor]
JO, CREW = "urn:li:corpuser:jo", "urn:li:corpGroup:crew"

PARTS = {
    "EDIT_USER_PROFILE": (JO, {"aboutMe": "x", "title": "y", "skills": ["z"]}, {"aboutMe": "x", "slack": "@jo"}),
    "EDIT_CONTACT_INFO": (JO, {"slack": "@jo", "phone": "1", "email": "jo@x.example"}, {"slack": "@jo", "title": "y"}),
    "EDIT_CONTACT_INFO of a group": (CREW, {"slack": "#crew", "email": "c@x.example"}, {"description": "x"}),
    "EDIT_ENTITY_DOCS of a group": (CREW, {"description": "x"}, {"email": "c@x.example"}),
}


def on(urn: str) -> dict:
    return {"filter": {"criteria": [{"field": "URN", "values": [urn], "condition": "EQUALS"}]}}


@pytest.mark.parametrize("case", PARTS)
def test_a_part_of_a_profile_is_opened_alone(holding: Holding, case: str) -> None:
    urn, opened, more = PARTS[case]
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel=DOOR)
    aspect = documents.USER_EDITABLE if urn == JO else documents.GROUP_EDITABLE
    by = holding(case.split()[0], resources=on(urn))
    for proposal in (said(urn, aspect, more), said(urn, "status", {"removed": True})):
        with pytest.raises(Forbidden):
            tell(proposal, by=by)
    tell(said(urn, aspect, opened), by=by)
    tell(said(urn, aspect, opened), by=by)


def test_our_own_services_ask_for_the_same(holding: Holding) -> None:
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel=DOOR)
    profile = holding("EDIT_USER_PROFILE", username="profile", resources=on(JO))
    contact = holding("EDIT_CONTACT_INFO", username="contact", resources=on(JO))
    give(contact.urn, "EDIT_CONTACT_INFO", displayName="contact of the group", resources=on(CREW))
    users.update(urn=JO, title="T", description="D", display_name="N", by=profile, channel=DOOR)
    users.update(urn=JO, email="jo@x.example", by=contact, channel=DOOR)
    groups.update(urn=CREW, email="crew@x.example", by=contact, channel=DOOR)
    for refused in (
        lambda: users.update(urn=JO, email="b@x.example", by=profile, channel=DOOR),
        lambda: users.update(urn=JO, title="Other", email="b@x.example", by=contact, channel=DOOR),
        lambda: users.suspend(urn=JO, by=profile, channel=DOOR),
        lambda: groups.update(urn=CREW, name="x", by=contact, channel=DOOR),
    ):
        with pytest.raises(Forbidden):
            refused()


def test_nobody_changes_the_own_address_with_view_self(holding: Holding) -> None:
    by = holding("VIEW_ENTITY_PAGE", username="jo")
    tell(said(JO, documents.USER_EDITABLE, {"aboutMe": "x", "slack": "@jo"}), by=by)
    with pytest.raises(Forbidden):
        tell(said(JO, documents.USER_EDITABLE, {"aboutMe": "x", "email": "else@x.example"}), by=by)
