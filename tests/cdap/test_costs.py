"""What grants cost: one query where they have a say, none where they have not."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.engine import families
from policies.engine.families import cdap_requests
from policies.engine.families.cdap_requests import OperationRequest
from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.pdp import authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from tests.cdap.conftest import give, register, urn

pytestmark = pytest.mark.django_db


def about(said: OperationRequest) -> AccessRequest:
    """Return the question about an operation."""
    read = cdap_requests.resolve(said)
    assert read.entity is not None
    return AccessRequest(read.requirement, ResourceRef(read.entity.urn, read.entity.kind), relatives=read.relatives)


def tables(asks: list[tuple[Actor, AccessRequest]]) -> list[str]:
    """Return the statements that answering costs, once the policies are loaded."""
    snapshot_store.get_current()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        authorizer.answer_many(requests=asks)
    return [query["sql"] for query in queries if "policyversion" not in query["sql"]]


def test_no_query_is_made_where_no_privilege_of_grants_is_asked(instance: None):
    actor = Actor(urn("datahub"))
    platform = [
        (actor, AccessRequest(privilege_requirement("MANAGE_POLICIES"))),
        (actor, AccessRequest(privilege_requirement("cdap:list"))),
    ]
    assert tables(platform) == []
    assert not any(
        "grant" in sql
        for sql in tables(
            [(actor, AccessRequest(privilege_requirement("VIEW_ENTITY"), ResourceRef(urn("stream:a.b"))))]
        )
    )


@pytest.mark.parametrize("count", [1, 50])
def test_one_query_loads_the_grants_of_everything_that_is_asked(instance: None, count: int):
    register("namespace:ns1", *[f"stream:ns1.s{number}" for number in range(count)])
    for number in range(count):
        give("datahub", f"stream:ns1.s{number}", "READ")
    give("datahub", "namespace:ns1", "READ")
    actors = [Actor(urn("datahub"), roles=frozenset({urn(f"role:r{number}")})) for number in range(count)]
    asks = [
        (actor, about(OperationRequest("stream.get", urn(f"stream:ns1.s{number}"))))
        for number, actor in enumerate(actors)
    ]
    assert len(tables(asks)) == 1
    assert all(decision.is_allowed for decision in authorizer.answer_many(requests=asks))


def test_the_implicit_statement_of_lists_is_about_nothing_else():
    (pair,) = [pair for pair in families.implicit_policies() if "cdap" in pair[0]]
    (statement,) = pair[1]
    assert statement.privileges == {"cdap:list"}
