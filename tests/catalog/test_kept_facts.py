"""Facts about entities are looked up once, and known anew after each kind of write that changes them."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from django.db import OperationalError, connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.access.facet_source import OrmFacetSource
from catalog.entities import services as entity_services
from catalog.ingest import deletes, rebuild_projection
from policies.engine import selectors
from policies.engine.ports import FacetSource, LoadedFacts
from policies.engine.selectors import OWNER, Resource
from policies.errors import PolicyAppError
from policies.identity.services import groups, users
from policies.models import PolicyVersion
from policies.pdp import authorizer, snapshot_store
from policies.pdp.ports import facet_source
from tests.catalog.conftest import DOOR, owners, said, tags, tell
from tests.overtaking import overtake

pytestmark = pytest.mark.django_db(transaction=True)

BY: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)"
SALES, EMEA, WORLD = "urn:li:domain:sales", "urn:li:domain:emea", "urn:li:domain:world"
HEX, PROJECT = "0123456789abcdef01234567", "abcdefabcdefabcdefabcdef"
BY_ID = f"urn:li:view:{HEX}"
JO = "urn:li:corpuser:jo"
TERM, MONEY, FINANCE = "urn:li:glossaryTerm:income", "urn:li:glossaryNode:money", "urn:li:glossaryNode:finance"
EVERYBODY = (ORDERS, OTHER, SALES, EMEA, WORLD, BY_ID, "urn:li:view:named", JO, "urn:li:dataProduct:p", TERM)
FIELDS = frozenset(
    {
        selectors.OWNER,
        selectors.DOMAIN,
        selectors.CONTAINER,
        selectors.GLOSSARY,
        selectors.TAG,
        selectors.GROUP_MEMBERSHIP,
        selectors.ID,
        selectors.PROJECT,
        selectors.CREATION,
        selectors.BRANCH,
        "PROPERTY.tier",
    }
)
NAMES = frozenset({"parent", "domains", "subjects", "dataset", "logical_parent", "term_group", "term_groups"})


def tiers(*values: object) -> dict[str, Any]:
    typed = [{"string" if isinstance(one, str) else "double": one} for one in values]
    return {"properties": [{"propertyUrn": "urn:li:structuredProperty:tier", "values": typed}]}


#: Each write, and some of those whose facts, relatives or being there it changes.
WRITES: tuple[tuple[Callable[[], Any], set[str]], ...] = (
    (lambda: tell(said(ORDERS, "globalTags", tags("a"))), {ORDERS}),
    (lambda: tell(said(ORDERS, "ownership", owners(JO))), {ORDERS}),
    (lambda: tell(said(ORDERS, "domains", {"domains": [EMEA]})), {ORDERS}),
    (lambda: tell(said(ORDERS, "datasetProperties", {"customProperties": {"tier": "gold"}})), {ORDERS}),
    (lambda: tell(said(ORDERS, "structuredProperties", tiers("silver", 3))), {ORDERS}),
    # The domain is stored, and lies below another: what is in it lies below that, too.
    (lambda: tell(said(EMEA, "domainProperties", {"name": "EMEA", "parentDomain": SALES})), {EMEA, ORDERS}),
    (lambda: tell(said(SALES, "domainProperties", {"name": "Sales", "parentDomain": WORLD})), {SALES, ORDERS}),
    (lambda: tell(said(EMEA, "domainProperties", {"name": "EMEA", "parentDomain": WORLD})), {EMEA, ORDERS}),
    (lambda: tell(said(OTHER, "domains", {"domains": [SALES]})), {OTHER}),
    (
        lambda: deletes.remove_references(urn=SALES, is_open=False, dry_run=False, by=authorizer.SYSTEM, channel=DOOR),
        {OTHER},
    ),
    (lambda: deletes.delete(urn=EMEA, **BY), {EMEA, ORDERS}),
    (lambda: entity_services.create(bodies=[{"type": "project", "object_id": PROJECT}], **BY), set()),
    (
        lambda: entity_services.create(
            bodies=[{"type": "view", "urn": "urn:li:view:named", "object_id": HEX, "project": PROJECT}], **BY
        ),
        {"urn:li:view:named", BY_ID},
    ),
    (lambda: deletes.delete(urn=f"urn:li:project:{PROJECT}", **BY), {"urn:li:view:named"}),
    (lambda: deletes.delete(urn="urn:li:view:named", **BY), {"urn:li:view:named", BY_ID}),
    (lambda: users.create(username="jo", **BY), {JO}),
    (lambda: groups.create(name="eng", identifier="eng", members=[JO], **BY), {JO}),
    (lambda: groups.remove(urn="urn:li:corpGroup:eng", **BY), {JO}),
    (
        lambda: tell(said("urn:li:dataProduct:p", "domains", {"domains": [WORLD]})),
        {"urn:li:dataProduct:p"},
    ),
    (lambda: tell(said(TERM, "glossaryTermInfo", {"name": "t", "definition": "", "parentNode": MONEY})), {TERM}),
    (lambda: tell(said(MONEY, "glossaryNodeInfo", {"name": "m", "definition": "", "parentNode": FINANCE})), {TERM}),
    (lambda: tell(said(MONEY, "glossaryNodeInfo", {"name": "m", "definition": ""})), {TERM}),
    (lambda: tell(said(ORDERS, "status", {"removed": True})), set()),
    (rebuild_projection.rebuild, set()),
)


def facts(source: FacetSource) -> dict[str, Any]:
    loaded = source.load(urns=EVERYBODY, fields=FIELDS)
    related, known = source.load_relatives(urns=EVERYBODY, names=NAMES), source.load_types(urns=EVERYBODY)
    return {urn: (shown(loaded[urn]), dict(related[urn]), known.get(urn)) for urn in EVERYBODY}


def shown(resource: Resource) -> tuple[Any, ...]:
    return resource.urn, resource.type, dict(resource.facets), resource.owners


def test_facts_are_known_anew_after_every_kind_of_write(db):
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    kept, stored = facet_source(), OrmFacetSource()
    before = facts(kept)
    for number, (write, changed) in enumerate(WRITES):
        write()
        now = facts(kept)
        assert now == facts(stored), number
        assert changed <= {urn for urn in EVERYBODY if now[urn] != before[urn]}, number
        before = now


def test_what_was_looked_up_costs_no_query_and_what_was_not_touched_stays(db, django_assert_num_queries):
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    kept = facet_source()
    facts(kept)
    tell(said(ORDERS, "globalTags", tags("a")))
    rest = [urn for urn in EVERYBODY if urn != ORDERS]
    with django_assert_num_queries(0):
        kept.load(urns=rest, fields=FIELDS)
        kept.load_relatives(urns=rest, names=NAMES)
        kept.load_types(urns=rest)
    with django_assert_num_queries(1):
        kept.load(urns=[ORDERS, *rest], fields={selectors.TAG})


def test_two_questions_about_other_facets_do_not_take_turns_in_asking(db, django_assert_num_queries):
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    kept = facet_source()
    kept.load(urns=[ORDERS], fields={selectors.TAG})
    kept.load(urns=[ORDERS], fields={selectors.DOMAIN})
    with django_assert_num_queries(0):
        kept.load(urns=[ORDERS], fields={selectors.TAG})
        kept.load(urns=[ORDERS], fields={selectors.DOMAIN})


def assert_same(kept: LoadedFacts, stored: LoadedFacts, fields: Iterable[str]) -> None:
    """The cache may know more fields than were asked for."""
    assert (kept.actors, kept.types) == (stored.actors, stored.types)
    assert kept.resources.keys() == stored.resources.keys()
    for urn, resource in stored.resources.items():
        values = {field: kept.resources[urn].values(field) for field in fields}
        assert (values, kept.resources[urn].type) == (dict(resource.facets), resource.type)
        assert OWNER not in fields or kept.resources[urn].owners == resource.owners


ACTORS = (JO, "urn:li:corpuser:mo", "urn:li:corpuser:nobody")
STEPS = st.one_of(
    st.sampled_from(range(len(WRITES))),
    st.tuples(
        st.lists(st.sampled_from(ACTORS), unique=True),
        st.lists(st.sampled_from(EVERYBODY), unique=True),
        st.sets(st.sampled_from(sorted(FIELDS))),
    ),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, min_size=4, max_size=24))
def test_whatever_is_written_between_questions_they_know_what_is_stored(db, steps):
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    kept, stored = facet_source(), OrmFacetSource()
    for step in steps:
        if isinstance(step, int):
            try:
                WRITES[step][0]()
            except PolicyAppError:
                # What it needs is not there, or there already.
                continue
        else:
            actors, urns, fields = step
            found = kept.load_facts(actors=actors, urns=urns, fields=fields)
            assert_same(found, stored.load_facts(actors=actors, urns=urns, fields=fields), fields)


def test_facts_that_were_overtaken_by_a_write_are_not_kept(db):
    """They are loaded, somebody writes about all of them, and only then they could be kept."""
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    users.create(username="jo", **BY)
    kept, asked = facet_source(), {"actors": [JO], "urns": [ORDERS], "fields": [selectors.TAG]}

    def write() -> None:
        try:
            groups.create(name="eng", identifier="eng", members=[JO], **BY)
            tell(said(ORDERS, "globalTags", tags("a")))
        finally:
            connection.close()

    with overtake("catalog_facet", write):
        assert kept.load_facts(**asked).resources[ORDERS].values(selectors.TAG) == frozenset()
    facts_now = kept.load_facts(**asked)
    assert facts_now.resources[ORDERS].values(selectors.TAG) == {"urn:li:tag:a"}
    assert facts_now.actors[JO].groups == {"urn:li:corpGroup:eng"}
    assert facts_now.types == {ORDERS: "dataset"}


def test_who_has_written_is_answered_from_it_while_others_ask(db):
    """Others load the same facts again and again, before, during and after every write."""
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    users.create(username="jo", **BY)
    groups.create(name="eng", identifier="eng", **BY)
    kept, asked = facet_source(), {"actors": [JO], "urns": [ORDERS, OTHER], "fields": [selectors.TAG]}
    is_over = threading.Event()

    def ask() -> None:
        try:
            while not is_over.is_set():
                kept.load_facts(**asked)
        finally:
            connection.close()

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for number in range(8):
            change = groups.remove_members if number % 2 else groups.add_members
            change(urn="urn:li:corpGroup:eng", members=[JO], **BY)
            tell(said(ORDERS, "globalTags", tags(f"t{number}")))
            found = kept.load_facts(**asked)
            assert found.resources[ORDERS].values(selectors.TAG) == {f"urn:li:tag:t{number}"}
            assert bool(found.actors[JO].groups) is (number % 2 == 0)
    finally:
        is_over.set()
        for reader in readers:
            reader.join()


def test_without_the_database_there_are_no_facts(db):
    PolicyVersion.objects.get_or_create(pk=PolicyVersion.ROW)
    snapshot_store.refresh()

    def away(*_: Any) -> Any:
        raise OperationalError("away")

    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        facet_source().load_facts(actors=[JO], urns=[ORDERS], fields=FIELDS)
