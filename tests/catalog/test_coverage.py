"""A privilege as a WHERE clause says what the engine says, entity by entity; and so do the facts it decides on."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyroaring import FrozenBitMap64

from catalog.access import coverage_sql, covered_entries, entity_types, facet_entries, reachable_resources
from catalog.access.coverage_simplify import narrow_coverage
from catalog.access.facet_entries import FacetList
from catalog.access.facet_source import OrmFacetSource
from catalog.access.reachable_parts import DensePart
from catalog.models import Entity, prefix_range
from policies.engine import selectors
from policies.engine.evaluate import decide
from policies.engine.model import Cover, Coverage, Effect, Question, Statement, StatementOrigin
from policies.engine.selectors import ActorMatch, Condition, Criterion, Selector
from policies.pdp import actor_resolution
from tests.catalog.conftest import said, tell, undone
from tests.catalog.generated import store
from tests.strategies import ACTORS, ENTITIES, PRIVILEGES, UNKNOWN_ENTITY, UNKNOWN_NODES, USERS, worlds

pytestmark = pytest.mark.django_db

FIELDS = {
    selectors.OWNER,
    selectors.DOMAIN,
    selectors.CONTAINER,
    selectors.GLOSSARY,
    selectors.TAG,
    selectors.DATA_PLATFORM_INSTANCE,
    selectors.GROUP_MEMBERSHIP,
    "PROPERTY.a",
    "PROPERTY.b",
}
TYPES = frozenset({"dataProduct", "tag"})
with_database = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@with_database
@given(worlds())
def test_the_facts_are_those_of_the_world(world) -> None:
    with undone():
        store(world)
        asked = [*ENTITIES, UNKNOWN_ENTITY, *UNKNOWN_NODES]
        loaded = OrmFacetSource().load(urns=asked, fields=FIELDS)
        actors = actor_resolution.load_actors(urns=USERS)
    for urn, actor in actors.items():
        known = {pair for pair in world.actor(urn).attributes if pair[0].startswith("ACTOR.")}
        assert actor.attributes == known
    assert set(loaded) == set(asked)
    for urn in asked:
        expected = world.resource(urn, fields=FIELDS)
        assert (loaded[urn].urn, loaded[urn].type) == (urn, expected.type)
        assert dict(loaded[urn].facets) == dict(expected.facets)
        assert loaded[urn].owners == expected.owners


@with_database
@given(worlds(), st.sampled_from(PRIVILEGES))
def test_covered_is_what_the_engine_allows(world, privilege: str) -> None:
    snapshot = world.snapshot()
    with undone():
        store(world)
        for who in ACTORS:
            actor = world.actor(who)
            coverage = snapshot.compute_coverage(actor, privilege)
            found = coverage_sql.filter_covered(coverage, Entity.objects.filter(urn__in=ENTITIES))
            expected = {
                urn for urn in ENTITIES if decide(snapshot, Question(actor, privilege, world.resource(urn))).is_allowed
            }
            assert set(found.values_list("urn", flat=True)) == expected


@with_database
@given(worlds(), st.sampled_from(PRIVILEGES), st.lists(st.sampled_from(["dataset", "domain", "tag"]), max_size=2))
def test_covered_is_the_same_however_it_is_read(world, privilege: str, types: list[str]) -> None:
    """From indexes as long as they have few entries, else by a test of each row; of some types or of all."""
    snapshot = world.snapshot()
    with undone():
        store(world)
        rows = Entity.objects.filter(type__in=types) if types else Entity.objects.all()
        for who in ACTORS:
            coverage = snapshot.compute_coverage(world.actor(who), privilege)
            expected = set(coverage_sql.filter_covered(coverage, rows))
            narrowed = narrow_coverage(coverage, types)
            for most in (0, 3, 1000):
                entries = covered_entries.find_covered_entries(narrowed, max_entries=most)
                ids = entries.list_ids()
                found = rows.filter(entries.build_condition(ids))
                assert sorted(found.values_list("pk", flat=True)) == sorted(entity.pk for entity in expected)
                if ids is not None and entries.is_exact:
                    of_types = rows.filter(pk__among=entries.select_ids(ids, entity_types.load_types(ids)))
                    assert sorted(of_types.values_list("pk", flat=True)) == sorted(entity.pk for entity in expected)


def test_few_entries_are_read_in_one_query(django_assert_num_queries) -> None:
    tag = "urn:li:tag:rare"
    tell(*[said(f"urn:li:dataProduct:{number}", "globalTags", {"tags": [{"tag": tag}]}) for number in range(3)])
    coverage = Coverage(None, (allow(Criterion("TAG", Condition.EQUALS, frozenset({tag}))),))  # type: ignore[arg-type]
    with django_assert_num_queries(1):
        ids = covered_entries.find_covered_entries(coverage).list_ids()
    assert set(ids or ()) == set(Entity.objects.filter(type="dataProduct").values_list("pk", flat=True))
    with django_assert_num_queries(0):
        nobody = covered_entries.find_covered_entries(Coverage(None))  # type: ignore[arg-type] # nothing is conditional
        assert nobody.list_ids() == FrozenBitMap64()


def test_a_list_that_was_cut_off_is_not_taken_for_whole(monkeypatch) -> None:
    """Each entry that was read counts, also a second one of the same entity."""
    tags = [f"urn:li:tag:{name}" for name in "ab"]
    tell(
        *[
            said(f"urn:li:dataProduct:{number}", "globalTags", {"tags": [{"tag": tag} for tag in tags]})
            for number in "123"
        ]
    )
    tell(said("urn:li:dataProduct:1", "ownership", {"owners": [{"owner": USERS[0], "type": "DATAOWNER"}]}))
    tagged, owned = FacetList("TAG", frozenset(tags)), FacetList("TAG", frozenset(tags), is_owned=True)
    read = facet_entries.read_facet_lists([tagged, owned], USERS)
    assert [len(read[one] or ()) for one in (tagged, owned)] == [3, 1]
    assert facet_entries.read_facet_lists([tagged], max_entries=5) == {tagged: None}
    monkeypatch.setattr(facet_entries, "MAX_OWNED", 0)
    assert facet_entries.read_facet_lists([tagged, owned], USERS)[owned] is None
    monkeypatch.setattr(facet_entries, "MAX_TOTAL_ENTRIES", 5)
    assert facet_entries.read_facet_lists([tagged], USERS) == {tagged: None}


def test_a_list_of_known_ids_is_counted_without_a_test_of_entities(django_assert_num_queries) -> None:
    """From the entries of the tag, their types and what is removed."""
    tag = "urn:li:tag:rare"
    tell(
        *[
            said(f"urn:li:{type_}:{number}", "globalTags", {"tags": [{"tag": tag}]})
            for type_ in TYPES
            for number in "ab"
        ]
    )
    tell(said("urn:li:dataProduct:a", "status", {"removed": True}))
    criteria = [Criterion("TAG", Condition.EQUALS, frozenset({tag})), Criterion("TYPE", Condition.EQUALS, TYPES)]
    coverage = Coverage(None, (allow(*criteria),))  # type: ignore[arg-type]
    with django_assert_num_queries(3):
        found = reachable_resources.list_reachable(coverage=coverage, types=["dataProduct"], max_count=10)
        assert len(found) == 1
    assert [row.urn for row in found[0:10]] == ["urn:li:dataProduct:b"]


def test_a_page_at_the_head_writes_no_condition_for_the_whole_list() -> None:
    """Only those of a long list that a few rows do not tell ask for it."""
    tell(*[said(f"urn:li:dataProduct:{number}", "status", {"removed": False}) for number in "abc"])
    entities = Entity.objects.filter(type="dataProduct")
    written: list[str] = []

    def write(name: str):
        def build_rows():
            written.append(name)
            return entities

        return build_rows

    dense = DensePart(write("all"), certain_rows=entities, entities=entities, build_probed_rows=write("few"))
    assert (dense.count(2), len(dense.read_rows(0, 2)), len(dense.read_rows(1, 3)), written) == (2, 2, 2, ["few"])
    assert (dense.count(), len(dense.read_rows(0, 5)), written) == (3, 3, ["few", "all"])


@pytest.mark.django_db(transaction=True)
def test_types_are_learned_once(django_assert_num_queries) -> None:
    tell(*[said(f"urn:li:{type_}:a", "status", {"removed": False}) for type_ in TYPES])
    ids = FrozenBitMap64(Entity.objects.values_list("pk", flat=True))
    with django_assert_num_queries(1):
        entity_types.load_types(ids)
    with django_assert_num_queries(0):
        [product] = entity_types.load_types(ids).select(ids, ["dataProduct"])
    assert Entity.objects.get(pk=product).type == "dataProduct"


def allow(*criteria: Criterion) -> Cover:
    match = ActorMatch(frozenset({selectors.EVERYONE}))
    selector = Selector(criteria, needs_resource=True)
    return Cover(
        Statement(StatementOrigin("p", "p"), Effect.ALLOW, match, frozenset({"X"}), selector), is_unconditional=True
    )


def test_thousands_of_alternatives_are_one_query(django_assert_num_queries) -> None:
    """Neither the depth of an expression nor the number of parameters stands in the way."""
    urns = [f"urn:li:tag:{number}" for number in range(5000)]
    tell(*[said(urn, "tagProperties", {"name": urn}) for urn in urns[::10]])
    actor = Coverage(None)  # type: ignore[arg-type] # nothing here is conditional on the actor
    one_each = [allow(Criterion("URN", Condition.EQUALS, frozenset({urn}))) for urn in urns[:3000]]
    prefixes = [allow(Criterion("URN", Condition.STARTS_WITH, frozenset({f"{urn}$"}))) for urn in urns[:2500]]
    with django_assert_num_queries(1):
        found = coverage_sql.filter_covered(Coverage(actor.actor, tuple(one_each + prefixes))).count()
    assert found == 300
    prefixed = allow(Criterion("TAG", Condition.STARTS_WITH, frozenset(f"{urn}$" for urn in urns)))
    with django_assert_num_queries(1):
        assert not coverage_sql.filter_covered(Coverage(actor.actor, (prefixed,))).exists()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(st.sampled_from("ab%_\\é\ud7ff\ue000\U0010ffff Z"), max_size=3), min_size=1, max_size=8),
    st.lists(st.text(st.sampled_from("ab%_\\é\ud7ff\ue000\U0010ffff Z"), max_size=2), max_size=3),
)
def test_a_prefix_is_a_range_of_bytes(texts: list[str], prefixes: list[str]) -> None:
    """Also at the edges of Unicode, and for what LIKE would take for a wildcard."""
    with undone():
        Entity.objects.bulk_create(
            [Entity(urn=f"urn:li:tag:{n}", type="tag", name=text) for n, text in enumerate(texts)]
        )
        found = Entity.objects.filter(prefix_range("name", prefixes)).values_list("name", flat=True)
        assert sorted(found) == sorted(text for text in texts if text.startswith(tuple(prefixes)))


def test_relatives() -> None:
    dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
    column = f"urn:li:schemaField:({dataset},id)"
    product, query = "urn:li:dataProduct:p", "urn:li:query:q"
    a, b = "urn:li:domain:a", "urn:li:domain:b"
    tell(
        said(product, "domains", {"domains": [b], "domainAssociations": [{"domain": a}, {"domain": a}]}),
        said(query, "querySubjects", {"subjects": [{"entity": column}, {"entity": dataset}, {"entity": product}]}),
        said(dataset, "container", {"container": "urn:li:container:c"}),
        said(a, "domainProperties", {"name": "A", "parentDomain": b}),
    )
    names = ["parent", "domains", "subjects", "dataset"]
    found = OrmFacetSource().load_relatives(urns=[product, query, dataset, column, a, "nonsense"], names=names)
    assert found[product]["domains"] == (a,)
    assert set(found[query]["subjects"]) == {dataset, product}
    assert found[column]["dataset"] == (dataset,)
    assert found[dataset]["parent"] == ("urn:li:container:c",)
    assert found[a]["parent"] == (b,)
    assert found["nonsense"] == dict.fromkeys(names, ())


def test_known_and_find() -> None:
    source = OrmFacetSource()
    Entity.objects.create(urn="urn:li:view:x", type="view", object_id="a" * 24)
    assert source.load_types(urns=["urn:li:view:x", "urn:li:view:y", "\x00"]) == {"urn:li:view:x": "view"}
    upper = ("view", "A" * 24)
    objects = [upper, ("dataset", "a" * 24), ("view", "\x00")]
    assert source.find(objects=objects) == {upper: "urn:li:view:x"}


def test_facts_cost_one_query(django_assert_num_queries) -> None:
    urns = [f"urn:li:tag:{number}" for number in range(500)]
    tell(*[said(urn, "domains", {"domains": ["urn:li:domain:a"]}) for urn in urns])
    with django_assert_num_queries(1):
        loaded = OrmFacetSource().load(urns=[*urns, "urn:li:tag:\ud800"], fields=["DOMAIN", "OWNER", "TAG"])
    assert len(loaded) == 501
    assert loaded[urns[7]].values("DOMAIN") == {"urn:li:domain:a"}
