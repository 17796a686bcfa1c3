"""A write is judged by the parts of a document that it makes different, by the table of effects of privileges."""

from collections.abc import Callable
from typing import Any

import pytest

from catalog.ingest import deletes
from catalog.ingest.apply import Proposal
from policies.engine.families.privilege_effects import load_effects
from policies.engine.model import Actor
from policies.errors import Forbidden
from tests.catalog.conftest import DOOR, give, said, stored, tags, tell

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
OTHER = "urn:li:dataset:(urn:li:dataPlatform:hive,lines,PROD)"
COLUMN = f"urn:li:schemaField:({DATASET},a)"
TAG, DOMAIN = "urn:li:tag:t", "urn:li:domain:d"
NODE, TERM = "urn:li:glossaryNode:n", "urn:li:glossaryTerm:m"
Holding = Callable[..., Actor]


def on(*urns: str) -> dict:
    return {"filter": {"criteria": [{"field": "URN", "values": list(urns), "condition": "EQUALS"}]}}


def refused(*proposals: Proposal, by: Actor) -> set[tuple[str, ...]]:
    """Return the lists of privileges that would suffice, having made sure that nothing was stored."""
    before = stored()
    with pytest.raises(Forbidden) as refusal:
        tell(*proposals, by=by)
    assert stored() == before
    return {tuple(item.privilege for item in way) for way in refusal.value.missing_any}


def columns(**parts: Any) -> dict:
    return {"editableSchemaFieldInfo": [{"fieldPath": "a", "description": "old", **parts}, {"fieldPath": "b"}]}


SOME_TERMS = {"terms": [{"urn": "urn:li:glossaryTerm:x"}], "auditStamp": {"time": 0, "actor": "urn:li:corpuser:a"}}

STAMP = {"time": 1, "actor": "urn:li:corpuser:a"}
TERM_INFO, CHART_INFO = {"name": "m", "definition": "", "termSource": "INTERNAL"}, {"title": "c", "description": ""}

#: Aspect, entity and privilege; the stored document; the change that it opens; one that it does not open.
PARTS: dict[str, tuple[str, str, str, dict | None, dict, dict]] = {
    "tags of columns": (
        *("editableSchemaMetadata", DATASET, "EDIT_DATASET_COL_TAGS"),
        *(columns(), columns(globalTags=tags("x")), columns(description="new")),
    ),
    "terms of columns": (
        *("editableSchemaMetadata", DATASET, "EDIT_DATASET_COL_GLOSSARY_TERMS"),
        *(columns(), columns(glossaryTerms=SOME_TERMS), columns(globalTags=tags("x"))),
    ),
    "texts of columns": (
        *("editableSchemaMetadata", DATASET, "EDIT_DATASET_COL_DESCRIPTION"),
        *(columns(), columns(description="new"), columns(glossaryTerms=SOME_TERMS)),
    ),
    "a text of a column, with a stamp": (
        *("editableSchemaMetadata", DATASET, "EDIT_DATASET_COL_DESCRIPTION"),
        *(columns(), {**columns(description="new"), "lastModified": STAMP}, {**columns(description="new"), "more": 1}),
    ),
    "colour": (
        *("tagProperties", TAG, "EDIT_TAG_COLOR"),
        *({"name": "t"}, {"name": "t", "colorHex": "#112233"}, {"name": "u", "colorHex": "#112233"}),
    ),
    "text of a tag": (
        *("tagProperties", TAG, "EDIT_ENTITY_DOCS"),
        *({"name": "t"}, {"name": "t", "description": "x"}, {"name": "t", "colorHex": "#112233"}),
    ),
    "text of a tag that had none": (
        *("tagProperties", TAG, "EDIT_ENTITY_DOCS"),
        *(None, {"name": "t", "description": "x"}, {"name": "u", "description": "x"}),
    ),
    "text of a domain": (
        *("domainProperties", DOMAIN, "EDIT_ENTITY_DOCS"),
        *({"name": "d"}, {"name": "d", "description": "x"}, {"name": "e", "description": "x"}),
    ),
    "text of a term": (
        *("glossaryTermInfo", TERM, "EDIT_ENTITY_DOCS"),
        *(TERM_INFO, {**TERM_INFO, "definition": "x"}, {**TERM_INFO, "termSource": "EXTERNAL"}),
    ),
    "text of a term group": (
        *("glossaryNodeInfo", NODE, "EDIT_ENTITY_DOCS"),
        *({"name": "n", "definition": ""}, {"name": "n", "definition": "x"}, {"name": "o", "definition": "x"}),
    ),
    "inputs of a chart": (
        *("chartInfo", "urn:li:chart:(looker,c)", "EDIT_LINEAGE"),
        *(CHART_INFO, {**CHART_INFO, "inputs": [{"string": DATASET}]}, {**CHART_INFO, "title": "d"}),
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_a_part_of_a_document_is_opened_alone(holding: Holding, case: str) -> None:
    aspect, urn, privilege, before, opened, more = PARTS[case]
    tell(said(urn, "status", {}), *([said(urn, aspect, before)] if before else []))
    by = holding(privilege, resources=on(urn))
    nobody = holding("EDIT_ENTITY_EMBED", username="nobody")
    assert {("EDIT_ENTITY",), (privilege,)} <= refused(said(urn, aspect, opened), by=nobody)
    assert (privilege,) not in refused(said(urn, aspect, more), by=by)
    tell(said(urn, aspect, opened), by=by)
    tell(said(urn, aspect, opened), by=by)
    assert refused(said(urn, "subTypes", {"typeNames": ["x"]}), by=by) == {("EDIT_ENTITY",)}


def test_operations_are_reported_with_their_own_privilege(holding: Holding) -> None:
    tell(said(DATASET, "status", {}))
    operation = said(DATASET, "operation", {"timestampMillis": 1, "operationType": "INSERT"})
    by = holding("EDIT_ENTITY_OPERATIONS", resources=on(DATASET))
    assert refused(said(DATASET, "datasetProfile", {"timestampMillis": 1}), by=by) == {("EDIT_ENTITY",)}
    tell(operation, by=by)


def test_each_changed_part_needs_its_privilege(holding: Holding) -> None:
    tell(said(DATASET, "editableSchemaMetadata", columns()))
    both = said(DATASET, "editableSchemaMetadata", columns(globalTags=tags("x"), description="new"))
    assert refused(both, by=holding("EDIT_DATASET_COL_TAGS", username="tags")) == {
        ("EDIT_DATASET_COL_DESCRIPTION",),
        ("EDIT_ENTITY",),
    }
    tell(both, by=holding("EDIT_DATASET_COL_TAGS", "EDIT_DATASET_COL_DESCRIPTION", username="both"))


def test_a_document_taken_away_takes_every_part_away(holding: Holding) -> None:
    tell(said(DATASET, "editableSchemaMetadata", columns(globalTags=tags("x"))))
    removal = said(DATASET, "editableSchemaMetadata", change="DELETE")
    assert refused(removal, by=holding("EDIT_DATASET_COL_TAGS", username="tags"))
    tell(removal, by=holding("EDIT_DATASET_COL_TAGS", "EDIT_DATASET_COL_DESCRIPTION", username="both"))


def test_columns_that_change_places_are_a_change_of_the_list(holding: Holding) -> None:
    tell(said(DATASET, "editableSchemaMetadata", columns()))
    turned = {"editableSchemaFieldInfo": columns()["editableSchemaFieldInfo"][::-1]}
    doubled = {"editableSchemaFieldInfo": [{"fieldPath": "a", "globalTags": tags("x")}] * 2}
    by = holding("EDIT_DATASET_COL_TAGS", "EDIT_DATASET_COL_DESCRIPTION")
    assert refused(said(DATASET, "editableSchemaMetadata", turned), by=by) == {("EDIT_ENTITY",)}
    assert refused(said(DATASET, "editableSchemaMetadata", doubled), by=by) == {("EDIT_ENTITY",)}


def test_a_deny_of_a_narrow_privilege_holds_for_that_part_alone(holding: Holding) -> None:
    tell(said(DATASET, "editableSchemaMetadata", columns()))
    by = holding("EDIT_ENTITY")
    give(by.urn, "EDIT_DATASET_COL_TAGS", effect="DENY", displayName="no tags")
    assert refused(said(DATASET, "editableSchemaMetadata", columns(globalTags=tags("x"))), by=by)
    tell(said(DATASET, "editableSchemaMetadata", columns(description="new")), by=by)


COLUMN_ASPECTS = {
    "globalTags": ("EDIT_DATASET_COL_TAGS", tags("x")),
    "glossaryTerms": ("EDIT_DATASET_COL_GLOSSARY_TERMS", SOME_TERMS),
    "documentation": ("EDIT_DATASET_COL_DESCRIPTION", {"documentations": []}),
    "structuredProperties": ("EDIT_DATASET_COLUMN_PROPERTIES", {"properties": []}),
    "businessAttributes": ("EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE", {}),
}


@pytest.mark.parametrize("aspect", COLUMN_ASPECTS)
def test_a_column_with_documents_of_its_own_goes_by_its_dataset(holding: Holding, aspect: str) -> None:
    privilege, document = COLUMN_ASPECTS[aspect]
    by = holding(privilege, resources=on(DATASET))
    foreign_column = f"urn:li:schemaField:({OTHER},a)"
    assert refused(said(foreign_column, aspect, document), by=by)
    assert refused(said(COLUMN, "status", {"removed": True}), by=by)
    tell(said(COLUMN, aspect, document), by=by)
    tell(said(COLUMN, aspect, document), by=by)
    assert refused(said(COLUMN, "status", {"removed": True}), by=by)


# -- entities about assets ---------------------------------------------------------------------------------------------

ASSERTION, INCIDENT = "urn:li:assertion:a", "urn:li:incident:i"
CONTRACT, JOIN = "urn:li:dataContract:c", "urn:li:erModelRelationship:j"


def about(*datasets: str, urn: str) -> Proposal:
    """Return what says that an entity is about these datasets."""
    return {
        ASSERTION: lambda: said(urn, "assertionInfo", {"type": "FIELD", "fieldAssertion": {"entity": datasets[0]}}),
        INCIDENT: lambda: said(urn, "incidentInfo", {"type": "FIELD", "entities": list(datasets)}),
        CONTRACT: lambda: said(urn, "dataContractProperties", {"entity": datasets[0]}),
    }[urn]()


@pytest.mark.parametrize(
    ("urn", "privilege"),
    [
        (ASSERTION, "EDIT_ENTITY_ASSERTIONS"),
        (INCIDENT, "EDIT_ENTITY_INCIDENTS"),
        (CONTRACT, "EDIT_ENTITY_DATA_CONTRACT"),
    ],
)
def test_what_is_about_assets_goes_by_all_of_them(holding: Holding, urn: str, privilege: str) -> None:
    by = holding(privilege, resources=on(DATASET))
    assert refused(about(OTHER, urn=urn), by=by)
    tell(about(DATASET, urn=urn), by=by)
    assert refused(about(OTHER, urn=urn), by=by)
    tell(about(DATASET, urn=urn), said(urn, "status", {"removed": False}), by=by)
    assert refused(said(urn, "ownership", {"owners": []}), by=by)
    tell(about(OTHER, urn=urn))
    assert refused(about(DATASET, urn=urn), by=by)
    with pytest.raises(Forbidden):
        deletes.delete(urn=urn, by=by, channel=DOOR)
    tell(about(DATASET, urn=urn))
    deletes.delete(urn=urn, by=by, channel=DOOR)


def test_an_incident_about_two_needs_both_and_an_editor_of_the_asset_may(holding: Holding) -> None:
    assert refused(about(DATASET, OTHER, urn=INCIDENT), by=holding("EDIT_ENTITY_INCIDENTS", resources=on(DATASET)))
    tell(about(DATASET, urn=INCIDENT), by=holding("EDIT_ENTITY", username="editor", resources=on(DATASET)))


def test_a_join_of_datasets_needs_both_sides(holding: Holding) -> None:
    join = said(JOIN, "erModelRelationshipProperties", {"name": "j", "source": DATASET, "destination": OTHER})
    privilege = "CREATE_ENTITY_ER_MODEL_RELATIONSHIP"
    assert refused(join, by=holding(privilege, username="one", resources=on(DATASET)))
    tell(join, by=holding(privilege, username="both", resources=on(DATASET, OTHER)))


def test_a_run_of_a_source_is_started_by_who_may_execute_it(holding: Holding) -> None:
    source = "urn:li:dataHubIngestionSource:s"
    run = said(
        "urn:li:dataHubExecutionRequest:r", "dataHubExecutionRequestInput", {"source": {"ingestionSource": source}}
    )
    assert refused(run, by=holding("EXECUTE_ENTITY", username="other", resources=on("urn:li:dataHubIngestionSource:o")))
    by = holding("EXECUTE_ENTITY", resources=on(source))
    tell(run, by=by)
    assert refused(said(source, "dataHubIngestionSourceInfo", {"name": "s"}), by=by)


# -- who manages a type ------------------------------------------------------------------------------------------------

#: Types whose managers are tested with the rules of their kind.
KNOWN_TYPES = {"domain", "glossaryNode", "glossaryTerm", "ownershipType", "tag"}
MANAGED = [
    (manager.privilege, type_, min(manager.aspects))
    for manager in load_effects().managers
    for type_ in sorted(manager.types - KNOWN_TYPES)
    if manager.relative == "self" and manager.aspects
]


@pytest.mark.parametrize(("privilege", "type_", "aspect"), MANAGED)
def test_who_manages_a_type_creates_writes_and_deletes(
    holding: Holding, privilege: str, type_: str, aspect: str
) -> None:
    urn, by = f"urn:li:{type_}:x", holding(privilege)
    assert refused(said(f"urn:li:{type_}:y", aspect, {}), by=holding("EDIT_ENTITY_TAGS", username="nobody"))
    tell(said(urn, aspect, {}), by=by)
    tell(said(urn, aspect, {"name": "x"}), by=by)
    assert refused(said(urn, "ownership", {"owners": []}), by=by)
    assert refused(said(DATASET, "status", {}), by=by)
    if type_ != "globalSettings":
        deletes.delete(urn=urn, by=by, channel=DOOR)


@pytest.mark.parametrize("privilege", ["MANAGE_GLOSSARY_CHILDREN", "MANAGE_ALL_GLOSSARY_CHILDREN", "MANAGE_GLOSSARIES"])
def test_links_of_a_term_are_managed_with_its_group(holding: Holding, privilege: str) -> None:
    term = {"name": "m", "definition": "", "termSource": "INTERNAL", "parentNode": NODE}
    tell(said(NODE, "glossaryNodeInfo", {"name": "n", "definition": ""}), said(TERM, "glossaryTermInfo", term))
    by = holding(privilege, resources=on(NODE)) if "CHILDREN" in privilege else holding(privilege)
    tell(said(TERM, "institutionalMemory", {"elements": []}), by=by)
    assert refused(said(TERM, "ownership", {"owners": []}), by=by)
    assert refused(said(DATASET, "institutionalMemory", {"elements": []}), by=by)
