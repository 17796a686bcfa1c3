"""Who may write what: the entity's and the aspects' privileges, new entities, tags, derived rules, people."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.ingest import apply, deletes
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.engine.model import Actor, MissingPrivilege
from policies.errors import Forbidden, Invalid
from policies.identity.services import roles
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import DOOR, facets, give, owners, projection, said, stored, tags, tell

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:hive,lines,PROD)"
PRODUCT, QUERY = "urn:li:dataProduct:p", "urn:li:query:q"
SALES, HR = "urn:li:domain:sales", "urn:li:domain:hr"
Holding = Callable[..., Actor]


def on(field: str, *values: str) -> dict:
    return {"filter": {"criteria": [{"field": field, "values": list(values), "condition": "EQUALS"}]}}


def refused(*proposals: Proposal, by: Actor) -> list[tuple[str | None, str]]:
    """Return what was missing, having made sure that nothing was stored."""
    before = stored(), projection()
    with pytest.raises(Forbidden) as refusal:
        tell(*proposals, by=by)
    assert (stored(), projection()) == before
    return [(item.entity, item.privilege) for item in refusal.value.missing]


@pytest.mark.parametrize(
    ("aspect", "privilege", "document"),
    [
        ("globalTags", "EDIT_ENTITY_TAGS", tags("a")),
        ("glossaryTerms", "EDIT_ENTITY_GLOSSARY_TERMS", {"terms": []}),
        ("ownership", "EDIT_ENTITY_OWNERS", owners("urn:li:corpuser:a")),
        ("domains", "EDIT_DOMAINS_PRIVILEGE", {"domains": []}),
        ("editableDatasetProperties", "EDIT_ENTITY_DOCS", {"description": "x"}),
        ("institutionalMemory", "EDIT_ENTITY_DOC_LINKS", {"elements": []}),
        ("deprecation", "EDIT_DEPRECATION_PRIVILEGE", {"deprecated": True}),
        ("status", "DELETE_ENTITY", {"removed": True}),
        ("structuredProperties", "EDIT_ENTITY_PROPERTIES", {"properties": []}),
        ("upstreamLineage", "EDIT_LINEAGE", {"upstreams": []}),
    ],
)
def test_an_aspect_has_its_own_privilege(holding: Holding, aspect: str, privilege: str, document: dict) -> None:
    tell(said(DATASET, "datasetProperties", {}))
    proposal = said(DATASET, aspect, document)
    assert refused(proposal, by=holding("VIEW_ENTITY_PAGE", username="reader"))
    assert refused(said(DATASET, "datasetProperties", {"name": "x"}), by=holding(privilege, username="narrow"))
    tell(proposal, by=holding(privilege, username="narrower"))
    tell(proposal, by=holding("EDIT_ENTITY", username="editor"))


def test_a_new_entity_needs_create_or_edit(holding: Holding) -> None:
    proposals = [said(DATASET, "globalTags", tags()), said(DATASET, "datasetProperties", {})]
    assert refused(*proposals, by=holding("EDIT_ENTITY_TAGS", username="tagger")) == [(DATASET, "CREATE_ENTITY")]
    tell(*proposals, by=holding("CREATE_ENTITY", username="creator"))
    tell(said(OTHER, "datasetProperties", {}), by=holding("EDIT_ENTITY", username="editor"))


def test_a_new_entity_is_judged_by_its_urn_and_type_and_where_it_is_put(holding: Holding) -> None:
    """A domain that is not stored is no place, and what else the batch says of the entity does not count."""
    by = holding("CREATE_ENTITY", resources=on("DOMAIN", SALES))
    in_sales = said(DATASET, "domains", {"domains": [SALES]})
    assert refused(in_sales, by=by) == [(DATASET, "CREATE_ENTITY")]
    tell(in_sales, by=holding("CREATE_ENTITY", username="b", resources=on("TYPE", "dataset")))
    for username, field, value, aspect, document in (
        ("owned", "OWNER", "urn:li:corpuser:owned", "ownership", owners("urn:li:corpuser:owned")),
        ("tagged", "TAG", "urn:li:tag:a", "globalTags", tags("a")),
        ("termed", "GLOSSARY", "urn:li:glossaryTerm:a", "glossaryTerms", {"terms": [{"urn": "urn:li:glossaryTerm:a"}]}),
    ):
        creator = holding("CREATE_ENTITY", "EDIT_ENTITY", username=username, resources=on(field, value))
        assert refused(said(OTHER, aspect, document), by=creator)


def test_who_may_create_in_a_domain_creates_what_the_batch_puts_there(holding: Holding) -> None:
    """In it, or below it, and nowhere else; with the tags that a new entity has."""
    child, outside = "urn:li:domain:child", said(OTHER, "domains", {"domains": [HR]})
    tell(
        said(SALES, "domainProperties", {"name": "s"}),
        said(HR, "domainProperties", {"name": "h"}),
        said(child, "domainProperties", {"name": "c", "parentDomain": SALES}),
    )
    by = holding("CREATE_ENTITY", "EDIT_ENTITY_TAGS", resources=on("DOMAIN", SALES))
    assert refused(outside, by=by)
    assert refused(said(OTHER, "status", {}), by=by)
    tell(said(DATASET, "domains", {"domains": [SALES]}), said(DATASET, "globalTags", tags("a")), by=by)
    tell(said(OTHER, "domains", {"domains": [child]}), said(OTHER, "datasetProperties", {}), by=by)
    assert refused(said(OTHER, "datasetProperties", {"name": "x"}), by=by)


def test_who_may_not_create_in_a_domain_puts_nothing_there(holding: Holding) -> None:
    tell(said(HR, "domainProperties", {"name": "h"}))
    elsewhere = {"filter": {"criteria": [{"field": "DOMAIN", "values": [HR], "condition": "NOT_EQUALS"}]}}
    by = holding("CREATE_ENTITY", resources=elsewhere)
    assert refused(said(DATASET, "domains", {"domains": [HR]}), said(DATASET, "status", {}), by=by)
    tell(said(DATASET, "status", {}), by=by)


def test_who_may_create_in_a_container_creates_there(holding: Holding) -> None:
    database, schema = "urn:li:container:database", "urn:li:container:schema"
    tell(said(database, "status", {}), said(schema, "container", {"container": database}))
    by = holding("CREATE_ENTITY", resources=on("CONTAINER", database))
    assert refused(said(DATASET, "container", {"container": "urn:li:container:other"}), by=by)
    tell(said(DATASET, "container", {"container": schema}), by=by)


def test_a_move_needs_the_domain_before_and_the_one_after(holding: Holding) -> None:
    tell(said(SALES, "status", {}), said(HR, "status", {}), said(DATASET, "domains", {"domains": [SALES]}))
    to_hr = said(DATASET, "domains", {"domains": [HR]})
    both = holding("EDIT_DOMAINS_PRIVILEGE", username="both", resources=on("DOMAIN", SALES, HR))
    assert refused(to_hr, by=holding("EDIT_DOMAINS_PRIVILEGE", username="before", resources=on("DOMAIN", SALES)))
    assert refused(to_hr, by=holding("EDIT_DOMAINS_PRIVILEGE", username="after", resources=on("DOMAIN", HR)))
    tell(to_hr, by=both)
    tell(said(DATASET, "domains", {"domains": []}), by=both)
    tell(to_hr, by=holding("EDIT_DOMAINS_PRIVILEGE", username="urn", resources=on("URN", DATASET)))


def test_what_is_stored_decides_not_what_is_proposed(holding: Holding) -> None:
    by = holding("EDIT_ENTITY", resources=on("DOMAIN", SALES))
    tell(said(DATASET, "domains", {"domains": [HR]}), said(OTHER, "domains", {"domains": [SALES]}))
    assert refused(said(DATASET, "domains", {"domains": [SALES]}), said(DATASET, "status", {}), by=by)
    assert refused(said(OTHER, "domains", {"domains": [HR]}), said(OTHER, "status", {}), by=by)
    tell(said(OTHER, "domains", {"domains": []}), said(OTHER, "status", {}), by=by)
    assert refused(said(OTHER, "status", {}), by=by)


def test_one_forbidden_item_refuses_the_batch_and_names_every_lack(holding: Holding) -> None:
    tell(said(DATASET, "status", {}), said(OTHER, "status", {}))
    by = holding("EDIT_ENTITY_OWNERS")
    missing = refused(
        said(DATASET, "ownership", owners("urn:li:corpuser:a")),
        said(DATASET, "datasetProperties", {}),
        said(OTHER, "datasetProperties", {}),
        said("urn:li:tag:new", "tagProperties", {"name": "new"}),
        said("urn:li:dataHubPolicy:new", "dataHubPolicyInfo", POLICY),
        by=by,
    )
    assert missing == [
        (DATASET, "EDIT_ENTITY"),
        (OTHER, "EDIT_ENTITY"),
        ("urn:li:tag:new", "CREATE_ENTITY"),
        (None, "MANAGE_POLICIES"),
    ]


POLICY = {
    "displayName": "Mine",
    "description": "",
    "type": "PLATFORM",
    "state": "ACTIVE",
    "editable": True,
    "privileges": ["MANAGE_POLICIES"],
    "actors": {"allUsers": True},
}


@pytest.mark.parametrize(
    ("urn", "aspect", "document"),
    [
        ("urn:li:dataHubPolicy:new", "dataHubPolicyInfo", POLICY),
        ("urn:li:corpuser:holder", "roleMembership", {"roles": ["urn:li:dataHubRole:Boss"]}),
        ("urn:li:corpuser:holder", "nativeGroupMembership", {"nativeGroups": ["urn:li:corpGroup:x"]}),
        ("urn:li:corpuser:holder", "groupMembership", {"groups": ["urn:li:corpGroup:x"]}),
        ("urn:li:corpuser:holder", "corpUserCredentials", {"hashedPassword": "x"}),
        ("urn:li:corpuser:other", "status", {"removed": True}),
        ("urn:li:corpuser:other", "globalTags", {"tags": []}),
        ("urn:li:dataHubRole:new", "dataHubRoleInfo", {"name": "x", "description": ""}),
    ],
)
def test_people_and_policies_stay_guarded(holding: Holding, urn: str, aspect: str, document: dict) -> None:
    """Also where ordinary entities are open to everybody, and to whoever may edit every entity."""
    by = holding("EDIT_ENTITY_TAGS", "CREATE_ENTITY")
    roles.create(name="Boss", identifier="Boss", by=SYSTEM, channel=DOOR)
    before = stored(), projection()
    for is_open in (False, True):
        with pytest.raises(Forbidden):
            tell(said(DATASET, "datasetProperties", {}), said(urn, aspect, document), by=by, is_open=is_open)
        assert (stored(), projection()) == before


def test_nobody_makes_the_system_actor() -> None:
    with pytest.raises(Invalid):
        tell(said("urn:li:corpuser:__datahub_system", "corpUserInfo", {"active": True}))


def test_open_doors_are_for_ordinary_entities(holding: Holding) -> None:
    by = holding("VIEW_ENTITY_PAGE")
    tell(said(DATASET, "globalTags", tags("a")), by=by, is_open=True)
    assert ("TAG", "urn:li:tag:a", "") in facets(DATASET)
    deletes.delete(urn=DATASET, by=by, channel=DOOR, is_open=True)
    with pytest.raises(Forbidden):
        deletes.delete(urn="urn:li:corpuser:somebody", by=by, channel=DOOR, is_open=True)
    assert not Entity.objects.exists()


# -- tags (rules/datahub.md a.5) ---------------------------------------------------------------------------------------


def only_tag(name: str) -> dict:
    return {"privilegeConstraints": {"criteria": [{"field": "URN", "values": [f"urn:li:tag:{name}"]}]}}


def columns(*names: str) -> dict:
    return {"fields": [{"fieldPath": "id", "globalTags": tags(*names)}]}


def test_constraints_look_at_the_tags_that_change(holding: Holding, settings: Any) -> None:
    tell(said(DATASET, "globalTags", tags("kept", "a")))
    by = holding("EDIT_ENTITY_TAGS", resources=only_tag("a"))
    assert refused(said(DATASET, "globalTags", tags("kept", "a", "b")), by=by)
    assert refused(said(DATASET, "globalTags", tags("a")), by=by)
    assert refused(said(DATASET, "globalTags", change="DELETE"), by=by)
    tell(said(DATASET, "globalTags", tags("kept")), by=by)
    tell(said(DATASET, "globalTags", tags("a", "kept")), by=by)
    tell(said(DATASET, "globalTags", {**tags("kept", "a"), "note": "no tag changed"}), by=by)
    settings.MCP_VALIDATION_PRIVILEGE_CONSTRAINTS = False
    # The setting is about ingestion alone.
    assert refused(said(DATASET, "globalTags", tags("b")), by=by)
    apply.apply(proposals=[said(DATASET, "globalTags", tags("b"))], by=by, channel="test", is_ingestion=True)


def test_tags_of_columns_have_a_privilege_of_their_own(holding: Holding) -> None:
    tell(said(DATASET, "schemaMetadata", columns("a")))
    by = holding("EDIT_ENTITY", resources=only_tag("nothing"))
    assert refused(said(DATASET, "schemaMetadata", columns("b")), by=by) == [(DATASET, "EDIT_DATASET_COL_TAGS")]
    give(by.urn, "EDIT_DATASET_COL_TAGS", displayName="columns")
    tell(said(DATASET, "schemaMetadata", columns("b")), by=by)
    moved = {"fields": [{"fieldPath": "other", "globalTags": tags("b")}]}
    tell(said(DATASET, "schemaMetadata", moved), by=by)


# -- derived rules (source 000) ----------------------------------------------------------------------------------------


def product(*assets: str, **more: str) -> Proposal:
    return said(PRODUCT, "dataProductProperties", {"assets": [{"destinationUrn": urn} for urn in assets], **more})


def test_ingestion_makes_a_product_like_any_entity(holding: Holding) -> None:
    tell(product(name="New"), by=holding("CREATE_ENTITY", resources=on("URN", PRODUCT)))
    tell(said(PRODUCT, "domains", {"domains": [SALES]}), by=holding("EDIT_ENTITY", username="e"))


def test_who_manages_all_its_domains_makes_a_product_too(holding: Holding) -> None:
    by = holding("MANAGE_DATA_PRODUCTS", resources=on("URN", SALES))
    assert refused(product(), by=by) == [(PRODUCT, "CREATE_ENTITY")]
    assert refused(product(), said(PRODUCT, "domains", {"domains": [SALES, HR]}), by=by) == [(PRODUCT, "CREATE_ENTITY")]
    tell(product(DATASET), said(PRODUCT, "domains", {"domains": [SALES]}), by=by)


def test_assets_by_ingestion_pass_on_either_side(holding: Holding) -> None:
    tell(product(DATASET), said(PRODUCT, "domains", {"domains": [SALES]}), said(DATASET, "status", {}))
    side_of_product = holding("MANAGE_DATA_PRODUCTS", username="p", resources=on("URN", SALES))
    side_of_assets = holding("EDIT_ENTITY_DATA_PRODUCTS", username="a", resources=on("URN", DATASET, OTHER))
    one_asset = holding("EDIT_ENTITY_DATA_PRODUCTS", username="o", resources=on("URN", DATASET))
    assert refused(product(OTHER), by=one_asset)
    tell(product(OTHER), by=side_of_assets)
    tell(product(), by=side_of_product)
    assert refused(product(name="New"), by=side_of_assets) == [(PRODUCT, "EDIT_ENTITY")]
    tell(product(name="New"), by=holding("EDIT_ENTITY", username="r", resources=on("URN", PRODUCT)))


def test_nobody_takes_a_product_over_by_moving_it(holding: Holding) -> None:
    tell(product(), said(PRODUCT, "domains", {"domains": [HR]}))
    by = holding("MANAGE_DATA_PRODUCTS", resources=on("URN", SALES))
    assert refused(said(PRODUCT, "domains", {"domains": [SALES]}), product(name="Mine"), by=by)


def test_products_are_deleted_by_their_domain(holding: Holding) -> None:
    tell(product(), said(PRODUCT, "domains", {"domains": [SALES]}))
    by = holding("DELETE_ENTITY", username="d")
    assert refused(said(PRODUCT, "status", {"removed": True}), by=by)
    with pytest.raises(Forbidden):
        deletes.delete(urn=PRODUCT, by=by, channel=DOOR)
    manager = holding("MANAGE_DATA_PRODUCTS", resources=on("URN", SALES))
    tell(said(PRODUCT, "status", {"removed": True}), by=manager)
    deletes.delete(urn=PRODUCT, by=manager, channel=DOOR)


def subjects(*urns: str) -> Proposal:
    return said(QUERY, "querySubjects", {"subjects": [{"entity": urn} for urn in urns]})


def test_queries_go_by_their_subjects(holding: Holding) -> None:
    by = holding("EDIT_ENTITY_QUERIES", resources=on("URN", DATASET))
    everything_but = holding("CREATE_ENTITY", username="creator")
    column = f"urn:li:schemaField:({DATASET},id)"
    with pytest.raises(Forbidden):
        tell(said(QUERY, "queryProperties", {}), by=by)
    assert refused(subjects(DATASET), by=everything_but)
    assert refused(subjects(DATASET, OTHER), by=by)
    tell(subjects(DATASET, column), said(QUERY, "queryProperties", {"name": "Q"}), by=by)
    tell(said(QUERY, "queryProperties", {"name": "R"}), by=by)
    tell(subjects(OTHER))
    assert refused(subjects(DATASET), by=by)
    with pytest.raises(Forbidden):
        deletes.delete(urn=QUERY, by=by, channel=DOOR)


def test_a_query_about_nothing_says_so(holding: Holding) -> None:
    by = holding("EDIT_ENTITY", "EDIT_ENTITY_QUERIES")
    with pytest.raises(Forbidden, match="has no subjects") as refusal:
        tell(said(QUERY, "queryProperties", {}), by=by)
    assert not refusal.value.missing_any
    with pytest.raises(Forbidden, match="has no subjects") as refusal:
        tell(
            said(QUERY, "queryProperties", {}),
            said(SALES, "domainProperties", {"name": "s"}),
            by=holding("EXISTS_ENTITY", username="x"),
        )
    assert {item.entity for way in refusal.value.missing_any for item in way} >= {SALES}


def test_a_tag_outside_of_a_constraint_is_named(holding: Holding) -> None:
    tell(said(DATASET, "status", {}))
    by = holding("EDIT_ENTITY_TAGS", resources=only_tag("a"))
    with pytest.raises(Forbidden, match="EDIT_ENTITY_TAGS on urn:li:tag:b"):
        tell(said(DATASET, "globalTags", tags("a", "b")), by=by)


def test_no_list_of_what_is_missing_contains_another(holding: Holding) -> None:
    tell(said(DATASET, "status", {}))
    with pytest.raises(Forbidden) as refusal:
        tell(
            said(DATASET, "globalTags", tags()),
            said(DATASET, "datasetProperties", {}),
            by=holding("VIEW_ENTITY_PAGE"),
        )
    assert refusal.value.missing_any == ((MissingPrivilege(DATASET, "EDIT_ENTITY"),),)


def test_logical_parents_need_both_sides(holding: Holding) -> None:
    column, parent = f"urn:li:schemaField:({DATASET},id)", f"urn:li:schemaField:({OTHER},id)"
    tell(said(column, "status", {}), said(parent, "status", {}))
    setting = said(column, "logicalParent", {"parent": {"destinationUrn": parent}})
    child_only = holding("EDIT_ENTITY", username="child", resources=on("URN", DATASET))
    assert refused(setting, by=child_only)
    tell(said(column, "logicalParent", {}), by=child_only)
    tell(said(column, "logicalParent", change="DELETE"), by=child_only)
    tell(setting, by=holding("EDIT_ENTITY", username="both", resources=on("URN", DATASET, parent)))


def test_a_suspended_actor_writes_nothing(holding: Holding) -> None:
    by = holding("EDIT_ENTITY")
    suspended = Actor(by.urn, is_active=False)
    assert refused(said(DATASET, "status", {}), by=suspended) == []
    with pytest.raises(Forbidden):
        tell(said(DATASET, "status", {}), by=suspended, is_open=True)


def test_judging_200_items_costs_what_judging_5_costs(holding: Holding) -> None:
    by = holding("EDIT_ENTITY", resources=on("DOMAIN", SALES))
    urns = [f"urn:li:tag:{number}" for number in range(200)]
    tell(*[said(urn, "domains", {"domains": [SALES]}) for urn in urns])

    def reads(some: list[str]) -> int:
        with CaptureQueriesContext(connection) as captured:
            tell(*[said(urn, "globalTags", tags()) for urn in some], by=by)
        return sum(query["sql"].lstrip().startswith(("SELECT", "WITH")) for query in captured.captured_queries)

    reads(urns[:1])  # the first question also loads the policies
    assert reads(urns[1:5]) == reads(urns[5:])


def test_what_is_missing_says_entity_and_privilege(holding: Holding) -> None:
    with pytest.raises(Forbidden) as refusal:
        tell(said(DATASET, "status", {}), by=holding("VIEW_ENTITY_PAGE"))
    assert refusal.value.missing == (MissingPrivilege(DATASET, "CREATE_ENTITY"),)
    assert refusal.value.missing_any == (
        (MissingPrivilege(DATASET, "CREATE_ENTITY"),),
        (MissingPrivilege(DATASET, "EDIT_ENTITY"),),
    )


def test_several_changes_name_what_is_enough_for_all_of_them(holding: Holding) -> None:
    tell(said(DATASET, "status", {}))
    with pytest.raises(Forbidden) as refusal:
        tell(
            said(DATASET, "globalTags", tags()),
            said(DATASET, "domains", {"domains": [SALES]}),
            by=holding("VIEW_ENTITY_PAGE"),
        )
    assert [[lack.privilege for lack in one] for one in refusal.value.missing_any] == [
        ["EDIT_ENTITY_TAGS", "EDIT_DOMAINS_PRIVILEGE"],
        ["EDIT_ENTITY"],
    ]
    assert refusal.value.detail == (
        f"Missing: EDIT_ENTITY_TAGS on {DATASET}, EDIT_DOMAINS_PRIVILEGE on {DATASET}, or EDIT_ENTITY on {DATASET}."
    )
