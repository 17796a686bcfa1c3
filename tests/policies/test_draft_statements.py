"""Drafts that a file or a report proposes count only while they are active and within their time."""

import pytest

from policies.authoring.services import import_export

pytestmark = pytest.mark.django_db

DATAHUB = {
    "displayName": "For a time",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["EDIT_ENTITY_TAGS"],
    "actors": {"allUsers": True},
}


@pytest.mark.parametrize(
    ("changes", "is_in_force"),
    [
        ({}, True),
        ({"state": "INACTIVE"}, False),
        ({"validUntil": "2001-01-01T00:00:00Z"}, False),
        ({"validFrom": "2999-01-01T00:00:00Z"}, False),
        ({"validFrom": "2001-01-01T00:00:00Z", "validUntil": "2999-01-01T00:00:00Z"}, True),
    ],
)
def test_a_proposed_policy_counts_only_within_its_time(changes, is_in_force):
    (proposal,) = import_export.read_proposals([{"family": "datahub", "document": DATAHUB | changes}])
    assert proposal.is_in_force is is_in_force
