"""Facts are looked up once and known anew after each kind of write; whatever is doubtful is looked up again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from policies.aspects import services as aspect_services
from policies.aspects.schemas import AspectChange
from policies.identity.services import access_tokens, groups, roles, users
from policies.models import Membership, PolicyVersion, User, open_write
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, authorizer, fact_cache
from policies.propagation.invalidating_cache import process_cache
from tests.overtaking import overtake

pytestmark = pytest.mark.django_db(transaction=True)

BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
JO = f"{USER_PREFIX}jo"
ENG = "urn:li:corpGroup:eng"
OPS = "urn:li:corpGroup:ops"
STEWARD = "urn:li:dataHubRole:Steward"


@pytest.fixture
def company() -> None:
    """Jo is in the group eng, and there are the group ops and the role Steward."""
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    users.create(username="jo", **BY)
    users.create(username="mo", **BY)
    groups.create(name="eng", identifier="eng", members=[JO], **BY)
    groups.create(name="ops", identifier="ops", **BY)
    roles.create(name="Steward", identifier="Steward", **BY)


def removed(*, is_removed: bool) -> None:
    change = AspectChange(urn=ENG, entity_type="corpGroup", name="status", document={"removed": is_removed})
    aspect_services.apply(changes=[change], by=authorizer.SYSTEM)


#: Every kind of write that changes who somebody is. Each begins where the one before it ended.
WRITES: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("into a group", lambda: groups.add_members(urn=OPS, members=[JO], **BY)),
    ("out of it", lambda: groups.remove_members(urn=OPS, members=[JO], **BY)),
    ("into groups", lambda: groups.add_to_groups(user=JO, groups=[OPS], **BY)),
    ("a role for the user", lambda: roles.grant(urn=STEWARD, actors=[JO], **BY)),
    ("taken again", lambda: roles.revoke(urn=STEWARD, actors=[JO], **BY)),
    ("a role for the group", lambda: roles.set_roles(actor=ENG, roles=[STEWARD], **BY)),
    ("only for another", lambda: roles.assign(role=None, actors=[ENG], **BY)),
    ("for the group again", lambda: roles.grant(urn=STEWARD, actors=[ENG], **BY)),
    ("the group is put away", lambda: removed(is_removed=True)),
    ("and is there again", lambda: removed(is_removed=False)),
    ("suspended", lambda: users.suspend(urn=JO, **BY)),
    ("active", lambda: users.activate(urn=JO, **BY)),
    ("the role is gone", lambda: roles.delete(urn=STEWARD, **BY)),
    ("the group is gone", lambda: groups.remove(urn=ENG, **BY)),
    ("the user is gone", lambda: users.remove(urn=JO, **BY)),
    ("and made anew", lambda: users.create(username="jo", groups=[OPS], **BY)),
)


def test_an_actor_is_known_anew_after_every_kind_of_write(company):
    before = fact_cache.get_actor(urn=JO)
    for name, write in WRITES:
        write()
        now = fact_cache.get_actor(urn=JO)
        assert now == actor_resolution.load_actor(urn=JO), name
        assert now != before, name
        before = now


def test_somebody_else_is_still_known(company, django_assert_num_queries):
    fact_cache.get_actor(urn=JO)
    fact_cache.get_actor(urn=f"{USER_PREFIX}mo")
    groups.add_members(urn=OPS, members=[JO], **BY)
    with django_assert_num_queries(0):
        fact_cache.get_actor(urn=f"{USER_PREFIX}mo")


def test_a_token_costs_no_query_twice_and_ends_with_the_write_that_ends_it(company, django_assert_num_queries):
    issued = access_tokens.create(owner=JO, name="laptop", **BY)
    found = access_tokens.authenticate(text=issued.text)
    assert found is not None
    with django_assert_num_queries(0):
        again = access_tokens.authenticate(text=issued.text)
    assert again == found
    assert again is not found
    users.suspend(urn=JO, **BY)
    assert access_tokens.authenticate(text=issued.text) is None
    users.activate(urn=JO, **BY)
    assert access_tokens.authenticate(text=issued.text) == found
    access_tokens.revoke(token_id=issued.token.pk, **BY)
    assert access_tokens.authenticate(text=issued.text) is None


def test_what_is_taken_back_is_never_known(company):
    before = fact_cache.get_actor(urn=JO)
    number = PolicyVersion.load_last_change()
    with transaction.atomic():
        groups.add_members(urn=OPS, members=[JO], **BY)
        # The transaction sees what it wrote, and nobody else does.
        assert OPS in fact_cache.get_actor(urn=JO).groups
        transaction.set_rollback(True)
    assert PolicyVersion.load_last_change() == number
    assert fact_cache.get_actor(urn=JO) == before


def test_a_savepoint_that_is_taken_back_leaves_no_gap(company, django_assert_num_queries):
    with transaction.atomic():
        groups.add_members(urn=OPS, members=[JO], **BY)
        with transaction.atomic():
            groups.add_members(urn=OPS, members=[f"{USER_PREFIX}mo"], **BY)
            transaction.set_rollback(True)
        roles.grant(urn=STEWARD, actors=[JO], **BY)
    assert fact_cache.get_actor(urn=JO) == actor_resolution.load_actor(urn=JO)
    fact_cache.get_actor(urn=f"{USER_PREFIX}mo")
    roles.revoke(urn=STEWARD, actors=[JO], **BY)
    with django_assert_num_queries(0):
        fact_cache.get_actor(urn=f"{USER_PREFIX}mo")


def test_a_write_that_says_nothing_makes_everything_be_forgotten(company):
    fact_cache.get_actor(urn=JO)
    with open_write():
        Membership.objects.filter(user__urn=JO).delete()
    assert fact_cache.get_actor(urn=JO).groups == frozenset()


def test_a_write_that_nobody_told_of_is_known_once_it_was_compared(company):
    fact_cache.get_actor(urn=JO)
    Membership.objects.filter(user__urn=JO).delete()
    PolicyVersion.objects.update(change_seq=PolicyVersion.load_last_change() + 1)
    process_cache.expire()
    assert fact_cache.get_actor(urn=JO).groups == frozenset()


def test_a_reader_that_was_overtaken_keeps_nothing(company):
    """It loads, somebody commits, and only then does it want to keep what it loaded."""
    with overtake("membership", _add_and_close):
        assert fact_cache.get_actor(urn=JO).groups == {ENG}
    assert fact_cache.get_actor(urn=JO).groups == {ENG, OPS}


def _add_and_close() -> None:
    try:
        groups.add_members(urn=OPS, members=[JO], **BY)
    finally:
        connection.close()


def test_without_the_database_nothing_is_known_for_longer_than_promised(company):
    fact_cache.get_actor(urn=JO)
    process_cache.expire()

    def away(*_: Any) -> Any:
        raise OperationalError("away")

    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        fact_cache.get_actor(urn=JO)


def test_a_user_of_a_request_is_nobody_elses(company):
    issued = access_tokens.create(owner=JO, name="laptop", **BY)
    mine = access_tokens.authenticate(text=issued.text)
    assert mine is not None
    mine.display_name = "changed and not saved"
    yours = access_tokens.authenticate(text=issued.text)
    assert yours is not None
    assert yours.display_name == User.objects.get(urn=JO).display_name
