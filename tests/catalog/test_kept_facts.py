"""Facts about entities are looked up once, and known anew after each kind of write that changes them."""

from collections.abc import Callable
from typing import Any

import pytest

from catalog.access.facet_source import OrmFacetSource
from catalog.entities import services as entity_services
from catalog.ingest import deletes, rebuild_projection
from policies.engine import selectors
from policies.engine.ports import FacetSource
from policies.engine.selectors import Resource
from policies.identity.services import groups, users
from policies.models import PolicyVersion
from policies.pdp import authorizer
from policies.pdp.ports import facet_source
from tests.catalog.conftest import DOOR, owners, said, tags, tell

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
