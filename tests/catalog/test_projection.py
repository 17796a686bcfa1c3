"""The projection depends on the documents alone: not on their order, not on how often they came."""

import random
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.ingest import rebuild_projection
from catalog.models import Ancestry, Entity
from tests.catalog.conftest import projection, said, tell, undone
from tests.catalog.generated import proposals
from tests.strategies import worlds

pytestmark = pytest.mark.django_db

with_database = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@with_database
@given(worlds(), st.randoms(use_true_random=False), st.integers(4, 30))
def test_any_order_and_any_cut_gives_the_same(world, shuffle: random.Random, size: int) -> None:
    whole = proposals(world)
    shuffled = [*whole]
    shuffle.shuffle(shuffled)
    with undone():
        tell(*whole)
        expected = projection()
    with undone():
        for start in range(0, len(shuffled), size):
            tell(*shuffled[start : start + size])
        assert projection() == expected
        rebuild_projection.rebuild()
        assert projection() == expected


NODES = [f"urn:li:domain:{name}" for name in "abcdef"]
MOVES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from([None, *NODES])), max_size=14)


def above(parents: dict[str, str | None], node: str) -> set[str]:
    """Walk up naively."""
    found: set[str] = set()
    parent = parents.get(node)
    while parent is not None and parent not in found:
        found.add(parent)
        parent = parents.get(parent)
    return found - {node}


def put(node: str, parent: str | None) -> None:
    tell(said(node, "domainProperties", {"name": node, **({"parentDomain": parent} if parent else {})}))


@with_database
@given(MOVES)
def test_the_closure_follows_every_move(moves: list[tuple[str, str | None]]) -> None:
    """Cycles come and go; everybody in one is below all the others, and nobody below itself."""
    parents: dict[str, str | None] = {}
    with undone():
        for node, parent in moves:
            put(node, parent)
            parents[node] = parent
            expected = {(one, ancestor) for one in NODES for ancestor in above(parents, one)}
            assert set(Ancestry.objects.values_list("node", "ancestor")) == expected


def test_a_cycle_gives_each_member_the_others() -> None:
    a, b, c, below = NODES[:4]
    for node, parent in ((a, b), (b, c), (c, a), (below, a)):
        put(node, parent)
    for node in (a, b, c):
        assert set(Ancestry.objects.filter(node=node).values_list("ancestor", flat=True)) == {a, b, c} - {node}
    assert set(Ancestry.objects.filter(node=below).values_list("ancestor", flat=True)) == {a, b, c}
    put(a, a)
    assert not Ancestry.objects.filter(node=a).exists()


def test_a_move_rewrites_nodes_below_it_and_nothing_else() -> None:
    """The rows of other nodes and of datasets keep their numbers: they were not touched."""
    a, b, c, d, e = NODES[:5]
    for node, parent in ((a, b), (d, e), (e, None), (b, None), (c, None)):
        put(node, parent)
    dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
    tell(said(dataset, "domains", {"domains": [a]}))
    facets = dict(Entity.objects.get(urn=dataset).facets.values_list("value", "pk"))
    untouched = Ancestry.objects.get(node=d).pk
    put(b, c)
    assert Ancestry.objects.get(node=d).pk == untouched
    assert set(Ancestry.objects.filter(node=a).values_list("ancestor", flat=True)) == {b, c}
    assert dict(Entity.objects.get(urn=dataset).facets.values_list("value", "pk")) == facets


def test_a_deep_chain_is_closed() -> None:
    nodes = [f"urn:li:container:{number}" for number in range(60)]
    tell(*[said(low, "container", {"container": high}) for low, high in pairwise(nodes)])
    assert Ancestry.objects.filter(node=nodes[0]).count() == 59
    assert Ancestry.objects.count() == 59 * 60 // 2
