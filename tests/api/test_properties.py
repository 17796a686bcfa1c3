"""Conditions on properties over the API: what is stored counts, at once, and who and what say what they leave out."""

import json
from typing import Any

import pytest

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.pdp import authorizer
from tests.api.conftest import DOOR, pointers_of

pytestmark = pytest.mark.django_db(transaction=True)

JO = "urn:li:corpuser:jo"
ORDERS, LINES = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "lines"))
TAGS = "EDIT_ENTITY_TAGS"


def tell(urn: str, aspect: str, document: dict[str, Any]) -> None:
    apply.apply(proposals=[Proposal(urn, aspect, json.dumps(document))], by=authorizer.SYSTEM, channel=DOOR)


def known(**properties: str) -> None:
    tell(JO, "corpUserInfo", {"active": True, "customProperties": properties})


def where(field: str, *values: str, condition: str = "EQUALS") -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": field, "condition": condition, "values": list(values)}]}}


@pytest.fixture
def asking(client_of, stored):
    """Somebody who may ask; jo, two tables with a department each, and a policy that compares departments."""
    client_of("jo")
    for urn, department in ((ORDERS, "sales"), (LINES, "legal")):
        tell(urn, "datasetProperties", {"customProperties": {"department": department}})
    same = where("PROPERTY.department", "${ACTOR.PROPERTY.department}")
    stored("same", privileges=[TAGS], actors={"allUsers": True}, resources=same)
    return client_of("service", "CHECK_ACCESS")


def decision(asking, urn: str, **more: Any) -> dict[str, Any]:
    body = {"actor": JO, "privilege": TAGS, "resource": {"urn": urn}, **more}
    answer: dict[str, Any] = asking.post("/api/v1/authorize", body).json()
    return answer


def test_what_is_known_of_a_user_counts_at_once(asking):
    assert decision(asking, ORDERS)["decision"] == "DENY"
    for department in ("sales", "legal", "sales"):
        known(department=department)
        found = {urn: decision(asking, urn)["decision"] for urn in (ORDERS, LINES)}
        assert found == {
            ORDERS: "ALLOW" if department == "sales" else "DENY",
            LINES: "ALLOW" if department == "legal" else "DENY",
        }
        listed = asking.post("/api/v1/what", {"actor": JO, "privilege": TAGS}).json()["results"]
        assert [one["urn"] for one in listed] == [urn for urn in (ORDERS, LINES) if found[urn] == "ALLOW"]
    tell(LINES, "structuredProperties", {"properties": [_assigned("department", "sales")]})
    assert decision(asking, LINES)["decision"] == "ALLOW"


def test_what_people_say_of_themselves_does_not_count(asking, client_of):
    tell(JO, "corpUserEditableInfo", {"displayName": "sales", "title": "sales", "department": "sales"})
    tell(JO, "structuredProperties", {"properties": [_assigned("department", "sales")]})
    assert decision(asking, ORDERS)["decision"] == "DENY"


def test_who_judges_properties_where_the_question_names_an_entity(asking):
    for department, users in (("sales", [JO]), ("legal", [])):
        known(department=department)
        body = asking.post("/api/v1/who", {"privilege": TAGS, "resource": {"urn": ORDERS}}).json()
        assert (body["conditional"], body["all_users"], body["users"]) == (False, False, users)
    assert asking.post("/api/v1/who", {"privilege": TAGS}).json()["conditional"] is False
    assert asking.post("/api/v1/who", {"privilege": TAGS, "resource": {"type": "dataset"}}).status_code == 200
    assert asking.post("/api/v1/who", {"privilege": "EDIT_ENTITY"}).json()["conditional"] is False


def test_an_explanation_names_what_was_compared(asking):
    known(department="legal")
    answer = decision(asking, ORDERS, explain=True)
    (near,) = [one for one in answer["nearest"] if one["name"] == "same"]
    assert [(lack["part"], lack["detail"]) for lack in near["lacks"]] == [
        ("property", "The dataset's department is not jo's department.")
    ]
    known(department="sales")
    assert "the dataset's department is jo's department" in json.dumps(decision(asking, ORDERS, explain=True))


def test_a_policy_with_problems_is_refused_with_all_of_them(manager):
    criteria = [
        {"field": "PROPERTY.", "values": ["x"]},
        {"field": "ACTOR.PROPERTY.a", "values": ["${ACTOR.PROPERTY.b}", "${}"]},
        {"field": "PROPERTY.a", "values": ["x" * 501]},
    ]
    document = {
        "displayName": "Odd",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["NOBODY_KNOWS"],
        "actors": {"allUsers": True},
        "resources": {"filter": {"criteria": criteria}},
    }
    at = "/resources/filter/criteria"
    assert pointers_of(manager.post("/api/v1/policies/", {"family": "datahub", "document": document})) == {
        ("privilege.unknown", "/privileges/0"),
        ("property.name", f"{at}/0/field"),
        ("property.reference", f"{at}/1/values/0"),
        ("property.reference", f"{at}/1/values/1"),
        ("property.value", f"{at}/2/values/0"),
    }


def test_privileges_of_the_installation_can_be_given(manager, settings):
    settings.CUSTOM_PRIVILEGES = ["TODO_READ"]
    document = {
        "displayName": "Todos",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["TODO_READ"],
        "actors": {"allUsers": True},
        "resources": {"filter": {"criteria": [{"field": "TYPE", "values": ["todo"]}]}},
    }
    assert manager.post("/api/v1/policies/", {"family": "datahub", "document": document}).status_code == 201
    question = {"privilege": "TODO_READ", "resource": {"urn": "urn:li:todo:1"}, "explain": True}
    answer = manager.post("/api/v1/authorize", question).json()
    assert answer["decision"] == "ALLOW"
    assert not answer["unknown"]


def _assigned(name: str, value: str) -> dict[str, Any]:
    return {"propertyUrn": f"urn:li:structuredProperty:{name}", "values": [{"string": value}]}
