"""Shapes of the aspects we own: what they yield, and every problem of a wrong one."""

import json

import pytest

from catalog import urns
from catalog.aspects import register
from catalog.aspects.annotations import column_tags
from catalog.aspects.projection import project

DATASET = urns.parse("urn:li:dataset:(urn:li:dataPlatform:hive,sales.orders,PROD)")
PRODUCT = urns.parse("urn:li:dataProduct:p")


def facets(urn: urns.Urn = DATASET, **documents: object) -> set[tuple[str, str, str]]:
    found = project(urn=urn, documents={name: json.dumps(document) for name, document in documents.items()})
    return {(field, value, kind) for field, value, kind in found.facets if field not in ("WORD", "PLATFORM")}


def test_owners_with_their_types() -> None:
    custom = "urn:li:ownershipType:custom"
    entries = [
        {"owner": "urn:li:corpuser:a", "type": "CUSTOM", "typeUrn": custom},
        {"owner": "urn:li:corpuser:a", "type": "DATAOWNER"},
        {"owner": "urn:li:corpuser:a", "type": "DATAOWNER"},
        {"owner": "urn:li:corpGroup:g", "type": "BUSINESS_OWNER"},
        {"owner": "urn:li:corpuser:b", "type": "STAKEHOLDER"},
        {"owner": "urn:li:corpuser:c"},
    ]
    assert facets(ownership={"owners": entries}) == {
        ("OWNER", "urn:li:corpuser:a", custom),
        ("OWNER", "urn:li:corpuser:a", ""),
        ("OWNER", "urn:li:corpGroup:g", ""),
        ("OWNER", "urn:li:corpuser:b", ""),
        ("OWNER", "urn:li:corpuser:c", ""),
    }


def test_tags_of_columns_are_no_tags_of_the_dataset() -> None:
    column = {"fieldPath": "id", "globalTags": {"tags": [{"tag": "urn:li:tag:PII"}]}}
    assert not facets(schemaMetadata={"fields": [column]}, editableSchemaMetadata={"editableSchemaFieldInfo": [column]})
    assert facets(globalTags={"tags": [{"tag": "urn:li:tag:PII"}]}) == {("TAG", "urn:li:tag:PII", "")}


@pytest.mark.parametrize(
    ("document", "of_product", "of_others"),
    [
        ({"domains": ["a", "b", "a"]}, {"a", "b"}, {"a", "b"}),
        ({"domains": ["a"], "domainAssociations": ["b", "b"]}, {"b"}, {"a"}),
        ({"domains": [], "domainAssociations": ["b"]}, {"b"}, {"b"}),
        ({"domains": ["a"], "domainAssociations": []}, {"a"}, {"a"}),
        ({"domainAssociations": ["b"]}, {"b"}, {"b"}),
    ],
)
def test_domains_of_products_and_of_others(document: dict, of_product: set, of_others: set) -> None:
    spelt: dict[str, list] = {key: [f"urn:li:domain:{name}" for name in names] for key, names in document.items()}
    if "domainAssociations" in spelt:
        spelt["domainAssociations"] = [{"domain": urn} for urn in spelt["domainAssociations"]]
    for urn, wanted in ((PRODUCT, of_product), (DATASET, of_others)):
        assert facets(urn, domains=spelt) == {("DOMAIN", f"urn:li:domain:{name}", "") for name in wanted}


@pytest.mark.parametrize(
    ("urn", "field"),
    [
        ("urn:li:domain:d", "DOMAIN"),
        ("urn:li:container:c", "CONTAINER"),
        ("urn:li:glossaryTerm:t", "GLOSSARY"),
        ("urn:li:glossaryNode:n", "GLOSSARY"),
        ("urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,one)", "DATA_PLATFORM_INSTANCE"),
    ],
)
def test_nodes_and_instances_are_values_of_themselves(urn: str, field: str) -> None:
    assert facets(urns.parse(urn)) == {(field, urn, "")}


def test_the_rest_of_what_documents_yield() -> None:
    assert facets(
        container={"container": "urn:li:container:c"},
        glossaryTerms={"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": {"time": 0, "actor": "x"}},
        dataPlatformInstance={"platform": "urn:li:dataPlatform:hive", "instance": "urn:li:dataPlatformInstance:(a,b)"},
        access={"roles": [{"urn": "urn:li:role:reader"}]},
        logicalParent={"parent": {"destinationUrn": PRODUCT.text}},
    ) == {
        ("CONTAINER", "urn:li:container:c", ""),
        ("GLOSSARY", "urn:li:glossaryTerm:t", ""),
        ("DATA_PLATFORM_INSTANCE", "urn:li:dataPlatformInstance:(a,b)", ""),
        ("ACCESS_ROLE", "urn:li:role:reader", ""),
        ("LOGICAL_PARENT", PRODUCT.text, ""),
    }
    role = urns.parse("urn:li:role:reader")
    actors = {"users": [{"user": "urn:li:corpuser:a"}], "groups": [{"group": "urn:li:corpGroup:g"}]}
    assert facets(role, actors=actors) == {
        ("ROLE_USER", "urn:li:corpuser:a", ""),
        ("ROLE_GROUP", "urn:li:corpGroup:g", ""),
    }
    assert facets(PRODUCT, dataProductProperties={"assets": [{"destinationUrn": DATASET.text}]}) == {
        ("ASSET", DATASET.text, "")
    }


def test_names_parents_and_state() -> None:
    def told(urn: str, **documents: object) -> tuple:
        found = project(urn=urns.parse(urn), documents={name: json.dumps(one) for name, one in documents.items()})
        return found.name, found.parent, found.is_removed

    above = "urn:li:domain:above"
    assert told("urn:li:domain:d", domainProperties={"name": "D", "parentDomain": above}) == ("D", above, False)
    assert told("urn:li:domain:d", domainProperties={"name": "D"}, status={"removed": True}) == ("D", None, True)
    assert told(DATASET.text) == ("sales.orders", None, False)
    assert told(DATASET.text, container={"container": "urn:li:container:c"})[1] == "urn:li:container:c"
    assert told("urn:li:domain:d", container={"container": "urn:li:container:c"})[1] is None
    both = {"datasetProperties": {"name": "orders"}, "editableDatasetProperties": {"name": "Orders"}}
    assert told(DATASET.text, **both)[0] == "Orders"
    assert told(DATASET.text, **both, registration={"name": "Mine"})[0] == "Mine"
    assert told(DATASET.text, datasetProperties={"name": "x" * 300})[0] == "x" * 255


@pytest.mark.parametrize(
    ("aspect", "document", "pointers"),
    [
        ("ownership", {}, ["/owners"]),
        ("ownership", {"owners": [{"owner": "jo"}, {"owner": 7}]}, ["/owners/0/owner", "/owners/1/owner"]),
        ("ownership", {"owners": [{"owner": "urn:li:tag:x"}]}, ["/owners/0/owner"]),
        ("globalTags", {"tags": [{"tag": "urn:li:domain:x"}, {}]}, ["/tags/0/tag", "/tags/1/tag"]),
        ("globalTags", {"tags": None}, ["/tags"]),
        ("domains", {"domains": "urn:li:domain:x"}, ["/domains"]),
        ("status", {"removed": "true"}, ["/removed"]),
        ("domainProperties", {"parentDomain": "urn:li:container:c"}, ["/name", "/parentDomain"]),
        ("container", {"container": None}, ["/container"]),
        ("roleProperties", {"name": ["x"]}, ["/name"]),
        ("roleProperties", {"name": "x\x00y"}, [""]),
        (
            "schemaMetadata",
            {"fields": [{"globalTags": {"tags": [{"tag": "x"}]}}]},
            ["/fields/0/fieldPath", "/fields/0/globalTags/tags/0/tag"],
        ),
        ("anything", {"of": "others\ud800"}, [""]),
        ("anything", [], [""]),
    ],
)
def test_every_problem_has_its_place(aspect: str, document: object, pointers: list[str]) -> None:
    parsed, problems = register.read(aspect, json.dumps(document))
    assert parsed is None
    assert sorted(problem.pointer for problem in problems) == pointers
    assert all(problem.code and problem.detail for problem in problems)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nonsense",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"a": "\x00"}',
        None,
        7,
    ],
)
def test_what_is_no_document(text: object) -> None:
    parsed, problems = register.read("anything", text)
    assert parsed is None
    assert len(problems) == 1


def test_documents_may_be_wide_but_not_deep() -> None:
    deep = {"a": json.loads("[" * 98 + '"]]]{[" , {}' + "]" * 98)}
    assert register.read("anything", json.dumps(deep)) == (deep, [])
    assert register.read("anything", json.dumps({"a": deep}))[0] is None
    wide: dict[str, list] = {"a": [{"b": []}] * 500}
    assert register.read("anything", json.dumps(wide)) == (wide, [])


def test_of_a_key_that_comes_twice_the_last_counts_everywhere() -> None:
    text = '{"tags": [{"tag": "urn:li:tag:a"}], "tags": [{"tag": "urn:li:tag:b"}]}'
    found = project(urn=urns.parse("urn:li:view:v"), documents={"globalTags": text})
    assert [facet.value for facet in found.facets if facet.field == "TAG"] == ["urn:li:tag:b"]
    assert column_tags(json.loads(text)) == {("", "urn:li:tag:b")}


def test_unknown_fields_and_foreign_aspects_pass() -> None:
    for aspect in ("datasetProperties", "roleProperties", "somethingNew"):
        document = {"name": "x", "future": {"a": [1, 2.5, None]}}
        assert register.read(aspect, json.dumps(document)) == (document, [])


@pytest.mark.parametrize(
    ("urn", "aspect", "document", "named"),
    [
        (
            "urn:li:domain:d",
            "domains",
            {"domains": ["urn:li:domain:other"]},
            ("NODE_DOMAIN", "urn:li:domain:other", ""),
        ),
        *(
            (
                f"urn:li:{kind}:n",
                "glossaryTerms",
                {"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": {"time": 0, "actor": "x"}},
                ("NODE_GLOSSARY", "urn:li:glossaryTerm:t", ""),
            )
            for kind in ("glossaryNode", "glossaryTerm")
        ),
        (
            "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,one)",
            "dataPlatformInstance",
            {"platform": "urn:li:dataPlatform:hive", "instance": "urn:li:dataPlatformInstance:(a,b)"},
            ("NODE_INSTANCE", "urn:li:dataPlatformInstance:(a,b)", ""),
        ),
    ],
)
def test_what_a_node_says_beside_itself_is_no_fact_for_policies(
    urn: str, aspect: str, document: dict, named: tuple[str, str, str]
) -> None:
    (own,) = facets(urns.parse(urn))
    assert facets(urns.parse(urn), **{aspect: document}) == {own, named}
    assert own[1] == urn
