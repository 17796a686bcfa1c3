"""Deletions of users, groups and roles: their net change is asking before and after the deletion itself."""

from functools import partial

import pytest

from policies.changes import people as change_people
from policies.changes import preview
from policies.changes.comparison import EffectQuestion
from policies.changes.kinds import read_change
from policies.errors import Forbidden
from policies.identity.changes.accounts import DeleteUser
from policies.identity.services import groups, roles, users
from policies.pdp import authorizer
from tests.catalog.test_net_change import (
    BY_SYSTEM,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def crew() -> None:
    for name in ("ann", "ben"):
        users.create(username=name, **BY_SYSTEM)
    members = [f"urn:li:corpuser:{name}" for name in ("ann", "ben")]
    groups.create(identifier="crew", name="Crew", members=members, **BY_SYSTEM)


def preview_deletion(kind: str, urn: str) -> preview.Preview:
    return preview.preview_changes(
        changes=[read_change({kind: urn})], by=authorizer.SYSTEM, question=EffectQuestion(100)
    )


@pytest.mark.usefixtures("crew")
def test_a_group_with_very_many_members_is_no_exact_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preview_deletion("delete_group", "urn:li:corpGroup:crew").change.is_exact
    monkeypatch.setattr(change_people, "MAX_AFFECTED", 1)
    assert not preview_deletion("delete_group", "urn:li:corpGroup:crew").change.is_exact
    roles.create(identifier="sailor", name="Sailor", **BY_SYSTEM)
    sailor = "urn:li:dataHubRole:sailor"
    assert preview_deletion("delete_role", sailor).change.is_exact
    roles.grant(urn=sailor, actors=["urn:li:corpGroup:crew"], **BY_SYSTEM)
    assert not preview_deletion("delete_role", sailor).change.is_exact


@pytest.mark.usefixtures("crew")
def test_what_cannot_be_deleted_is_refused_alike() -> None:
    users.create(username="datahub", **BY_SYSTEM)
    deletion = DeleteUser("urn:li:corpuser:datahub")
    for refuse in (partial(deletion.check, authorizer.SYSTEM), partial(deletion.apply, **BY_SYSTEM)):
        with pytest.raises(Forbidden, match="The root user cannot be removed"):
            refuse()
