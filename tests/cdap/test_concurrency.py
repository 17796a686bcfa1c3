"""Operations at the same time, in real threads: one create wins, and no grant is left on what is not there."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from catalog.cdap import grant_services
from catalog.cdap.grant_requests import GrantRequest
from catalog.entities import bootstrap
from catalog.models import Entity, EntityUserGrant
from policies.errors import Conflict, Forbidden, NotFound, PolicyAppError
from policies.identity.services import users
from policies.models import User
from policies.pdp import actor_resolution, authorizer
from tests.cdap.conftest import DOOR, do, give, known, performed, register, urn
from tests.overtaking import overtake

WRITERS = 6

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def writers(transactional_db: None) -> list[str]:
    """Users who may create in the namespace ns1."""
    bootstrap.register_cdap_instance(by=authorizer.SYSTEM)
    register("namespace:ns1")
    names = [f"writer{number}" for number in range(WRITERS)]
    for name in names:
        users.create(username=name, by=authorizer.SYSTEM, channel=DOOR)
        give(name, "namespace:ns1", "WRITE", "ADMIN")
    return names


def together(deeds: Sequence[Callable[[], object]]) -> list[str]:
    """Do everything at once, each in a thread of its own; return how each ended."""
    barrier = Barrier(len(deeds))

    def run(deed: Callable[[], object]) -> str:
        try:
            barrier.wait()
            deed()
        except PolicyAppError as error:
            return type(error).__name__
        finally:
            connection.close()
        return "done"

    with ThreadPoolExecutor(len(deeds)) as pool:
        return list(pool.map(run, deeds))


def test_one_of_several_creates_wins_and_no_grant_leaks_cd_16(writers: list[str]):
    ends = together([partial(performed, "stream.create", "stream:ns1.clicks", name) for name in writers])
    assert sorted(ends) == sorted([Conflict.__name__] * (WRITERS - 1) + ["done"])
    rows = EntityUserGrant.objects.filter(content_object__urn=urn("stream:ns1.clicks"))
    winner = writers[ends.index("done")]
    assert set(rows.values_list("user__urn", flat=True)) == {urn(winner)}
    assert rows.count() == 4


def test_create_and_delete_of_the_namespace_leave_nothing_behind_cd_17(writers: list[str]):
    deeds = [partial(performed, "stream.create", f"stream:ns1.{name}", name) for name in writers[1:]]
    ends = together([lambda: performed("namespace.delete", "namespace:ns1", writers[0]), *deeds])
    assert ends[0] == "done"
    assert set(ends) <= {"done", Forbidden.__name__}
    assert not Entity.objects.filter(urn__startswith="urn:li:stream:").exists()
    assert not EntityUserGrant.objects.exists()


def test_one_of_several_deletes_wins_cd_17(writers: list[str]):
    performed("stream.create", "stream:ns1.clicks", writers[0])
    for name in writers:
        give(name, "stream:ns1.*", "ADMIN")
    ends = together([partial(performed, "stream.delete", "stream:ns1.clicks", name) for name in writers])
    assert sorted(ends) == sorted([NotFound.__name__] * (WRITERS - 1) + ["done"])


def test_the_last_two_admins_cannot_both_go_cd_19(writers: list[str]):
    register("stream:ns1.clicks")
    pair = writers[:2]
    for name in pair:
        give(name, "stream:ns1.clicks", "ADMIN")
    deeds = [
        partial(
            grant_services.revoke,
            requests=[GrantRequest(urn(name), urn("stream:ns1.clicks"))],
            by=actor_resolution.load_actor(urn=urn(name)),
            channel=DOOR,
        )
        for name in pair
    ]
    assert sorted(together(deeds)) == [Conflict.__name__, "done"]
    assert EntityUserGrant.objects.filter(content_object__urn=urn("stream:ns1.clicks")).count() == 1


@pytest.mark.parametrize("operation", ["stream.create", "stream.delete"])
@pytest.mark.parametrize("end", ["deleted", "removed", "suspended"])
def test_an_actor_who_goes_while_the_operation_waits_is_one_clear_refusal(
    transactional_db: None,
    client_of: Callable[..., Any],
    operation: str,
    end: str,
):
    """The actor is known when the call begins, and gone once it is its turn to write."""
    register("namespace:ns1", "stream:ns1.there")
    client_of("alice")
    give("alice", "namespace:ns1", "WRITE", "ADMIN")
    give("alice", "stream:ns1.there", "ADMIN")
    manager = client_of("manager", "MANAGE_POLICIES")
    writes: list[str] = []

    def end_actor() -> None:
        if not writes:
            writes.append(end)
            if end == "deleted":
                users.remove(urn=urn("alice"), by=authorizer.SYSTEM, channel=DOOR)
            else:
                changes = {"is_removed": True} if end == "removed" else {"state": "SUSPENDED"}
                User.objects.filter(urn=urn("alice")).update(**changes)
            connection.close()

    entity = "stream:ns1.new" if operation == "stream.create" else "stream:ns1.there"
    with overtake('AS "shown"', end_actor):
        answer = do(manager, operation, entity, actor=urn("alice"))
    assert writes == [end]
    if end == "suspended":
        assert (answer.status_code, answer.json()["detail"]) == (403, f"{urn('alice')} is suspended.")
    else:
        problems = [(problem["code"], problem["pointer"]) for problem in answer.json()["errors"]]
        assert (answer.status_code, problems) == (400, [("entity.unknown", "/actor")])
    assert known("stream:ns1.new", "stream:ns1.there") == {urn("stream:ns1.there")}


def test_a_removed_actor_is_unknown(transactional_db: None, client_of: Callable[..., Any]):
    client_of("alice")
    User.objects.filter(urn=urn("alice")).update(is_removed=True)
    answer = do(client_of("manager", "MANAGE_POLICIES"), "stream.list", actor=urn("alice"))
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (400, "entity.unknown")
