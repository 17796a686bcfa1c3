"""Datazone over the API: questions about objects by id, creation, branches, columns and paths; policies; the query."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies import bootstrap
from policies.identity.services import roles, users
from policies.models import Role, User
from policies.pdp import authorizer, snapshot_store
from tests.api.conftest import DOOR, pointers_of, problem_of

DATASET, VIEW, LOOSE, PROJECT = "a" * 24, "b" * 24, "c" * 24, "1" * 24
SNOWFLAKE = "urn:li:dataset:(urn:li:dataPlatform:snowflake,churn.scores,PROD)"
ANALYST, AUDITOR = "urn:li:dataHubRole:analyst", "urn:li:dataHubRole:auditor"
ROWS, COLUMNS = "row_level_restrictions", "column_level_restrictions"

Json = dict[str, Any]


@pytest.fixture
def caller(client_of: Callable[..., APIClient]) -> APIClient:
    """Somebody who may manage policies and ask about others, in a world of four objects and two roles held by jo."""
    Entity.objects.create(urn=f"urn:li:project:{PROJECT}", type="project", object_id=PROJECT, name="Churn")
    Entity.objects.create(urn=SNOWFLAKE, type="dataset", object_id=DATASET, project=PROJECT)
    Entity.objects.create(urn=f"urn:li:view:{VIEW}", type="view", object_id=VIEW)
    Entity.objects.create(urn=f"urn:li:dataset:{LOOSE}", type="dataset", object_id=LOOSE)
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    for urn in (ANALYST, AUDITOR):
        name = urn.rpartition(":")[2]
        roles.create(identifier=name, name=name, description="", by=authorizer.SYSTEM, channel=DOOR)
        roles.grant(urn=urn, actors=["urn:li:corpuser:jo"], by=authorizer.SYSTEM, channel=DOOR)
    return client_of("manager", "MANAGE_POLICIES", "CREATE_ENTITY")


def said(resource: str, *actions: str, effect: str = "allow", **more: Any) -> Json:
    """Return a statement."""
    return {"resource": resource, "actions": list(actions), "effect": effect, **more}


def body(name: str, *statements: Json, bound: tuple[str, ...] = (ANALYST,)) -> Json:
    """Return a policy as it is sent."""
    document = {"name": name, "statements": list(statements), "roles": list(bound)}
    return {"urn": f"urn:li:dataHubPolicy:{name}", "family": "datazone", "document": document}


def put(client: APIClient, name: str, *statements: Json, bound: tuple[str, ...] = (ANALYST,)) -> Json:
    """Store a policy and return what is answered."""
    answer = client.post("/api/v1/policies/", body(name, *statements, bound=bound), format="json")
    assert answer.status_code == 201, answer.content
    found: Json = answer.json()
    return found


def ask(client: APIClient, action: str, resource: Json, **more: Any) -> Json:
    """Return the answer about jo."""
    question = {"actor": "urn:li:corpuser:jo", "privilege": action, "resource": resource, **more}
    answer = client.post("/api/v1/authorize", question, format="json")
    assert answer.status_code == 200, answer.content
    found: Json = answer.json()
    return found


def code(client: APIClient, action: str, resource: Json) -> str:
    """Return the code of the answer about jo."""
    found: str = ask(client, action, resource)["code"]
    return found


def test_dz_18_an_object_is_named_by_type_and_id_or_by_urn(caller: APIClient) -> None:
    put(caller, "one", said(f"dataset:{DATASET.upper()}", "dataset:read"))
    for resource in (
        {"type": "dataset", "id": DATASET},
        {"type": "dataset", "id": DATASET.upper()},
        {"urn": SNOWFLAKE},
        {"urn": SNOWFLAKE, "type": "dataset", "project": "9" * 24},
    ):
        found = ask(caller, "dataset:read", resource)
        assert (found["decision"], found["code"], found["restrictions"]) == ("ALLOW", "allowed", None)
        assert [(one["policy"], one["statement"], one["effect"]) for one in found["reasons"]] == [
            ("urn:li:dataHubPolicy:one", 0, "allow")
        ]
    assert code(caller, "dataset:read", {"type": "dataset", "id": LOOSE}) == "implicit_deny"
    assert code(caller, "dataset:write", {"type": "dataset", "id": DATASET}) == "implicit_deny"
    # The URN that the id would make is not the URN of this object.
    assert code(caller, "dataset:read", {"urn": f"urn:li:dataset:{DATASET}"}) == "implicit_deny"


def test_an_object_that_nobody_registered_is_judged_by_its_type_and_id(caller: APIClient) -> None:
    put(caller, "one", said(f"notebook:{'d' * 24}", "notebook:read"), said(f"project:{PROJECT}:*", "*:*"))
    resource = {"type": "notebook", "id": "d" * 24}
    assert code(caller, "notebook:read", resource) == "allowed"
    assert code(caller, "notebook:write", resource | {"project": PROJECT}) == "implicit_deny"


def test_dz_16_dz_36_creation_is_on_the_bare_type(caller: APIClient) -> None:
    put(caller, "types", said("notebook", "notebook:create"), said("dataset:*", "dataset:*"))
    put(caller, "project", said(f"project:{PROJECT}:view:*", "view:*"))
    assert code(caller, "notebook:create", {"type": "notebook"}) == "allowed"
    assert code(caller, "notebook:create", {"type": "notebook", "project": PROJECT}) == "allowed"
    assert code(caller, "dataset:create", {"type": "dataset"}) == "implicit_deny"
    assert code(caller, "view:create", {"type": "view"}) == "implicit_deny"
    assert code(caller, "view:create", {"type": "view", "project": PROJECT}) == "allowed"
    assert code(caller, "view:create", {"type": "view", "project": "9" * 24}) == "implicit_deny"
    assert code(caller, "view:create", {"type": "view", "parent": f"urn:li:project:{PROJECT}"}) == "allowed"
    assert code(caller, "view:create", {"type": "view", "parent": SNOWFLAKE}) == "implicit_deny"


def test_dz_23_a_project_is_that_of_the_catalog_and_moves_at_once(caller: APIClient) -> None:
    put(caller, "project", said(f"project:{PROJECT}:*", "*:read"))
    assert code(caller, "dataset:read", {"type": "dataset", "id": DATASET}) == "allowed"
    assert code(caller, "project:read", {"type": "project", "id": PROJECT}) == "implicit_deny"
    assert code(caller, "dataset:read", {"type": "dataset", "id": LOOSE, "project": PROJECT}) == "implicit_deny"
    Entity.objects.filter(object_id=DATASET).update(project=None)
    assert code(caller, "dataset:read", {"type": "dataset", "id": DATASET}) == "implicit_deny"


def test_dz_37_a_deny_wins_over_another_role(caller: APIClient) -> None:
    put(caller, "reads", said("dataset:*", "dataset:read"))
    put(caller, "not-that", said(f"dataset:{DATASET}", "dataset:manage", effect="deny"), bound=(AUDITOR,))
    found = ask(caller, "dataset:read", {"type": "dataset", "id": DATASET}, explain=True)
    assert (found["decision"], found["code"]) == ("DENY", "explicit_deny")
    assert [(one["policy"], one["effect"]) for one in found["reasons"]] == [("urn:li:dataHubPolicy:not-that", "deny")]
    assert "role auditor" in found["reasons"][0]["because"]
    assert code(caller, "dataset:read", {"type": "dataset", "id": LOOSE}) == "allowed"
    who = caller.post(
        "/api/v1/who", {"privilege": "dataset:read", "resource": {"urn": SNOWFLAKE}}, format="json"
    ).json()
    assert (who["roles"], who["users"]) == ([], []), "jo, who alone is an analyst, is an auditor, too"


def test_dz_41_to_dz_43_branches(caller: APIClient) -> None:
    put(caller, "dev", said("*", "*:read", branch="dev"))
    dataset = {"type": "dataset", "id": DATASET}
    assert code(caller, "dataset:read", dataset) == "implicit_deny"
    assert code(caller, "dataset:read", dataset | {"branch": "main"}) == "implicit_deny"
    assert code(caller, "dataset:read", dataset | {"branch": "dev"}) == "allowed"
    assert code(caller, "dataset:read", dataset | {"branch": "Dev"}) == "implicit_deny"
    jo = User.objects.get(username="jo")
    assert code(caller, "user:read", {"type": "user", "id": jo.object_id, "branch": "dev"}) == "implicit_deny"


def test_users_and_roles_of_datazone_are_those_of_the_house(caller: APIClient) -> None:
    jo, role = User.objects.get(username="jo"), Role.objects.get(urn=AUDITOR)
    put(caller, "people", said(f"user:{jo.object_id}", "user:read"), said("role:*", "role:manage"))
    for resource in (
        {"type": "user", "id": jo.object_id},
        {"urn": "urn:li:corpuser:jo"},
        {"type": "user", "urn": "urn:li:corpuser:jo"},
    ):
        assert code(caller, "user:read", resource) == "allowed"
    assert code(caller, "user:read", {"urn": "urn:li:corpuser:manager"}) == "implicit_deny"
    assert code(caller, "role:delete", {"type": "role", "id": role.object_id}) == "allowed"
    assert code(caller, "role:delete", {"urn": AUDITOR}) == "allowed"
    answer = caller.post(
        "/api/v1/authorize",
        {"privilege": "role:read", "resource": {"type": "role", "urn": "urn:li:corpuser:jo"}},
        format="json",
    )
    assert pointers_of(answer) == {("type.mismatch", "/resource/type")}


def test_dz_55_to_dz_61_restrictions_in_the_answer(caller: APIClient) -> None:
    resource = {"type": "dataset", "id": DATASET}
    put(
        caller,
        "europe",
        said(
            f"dataset:{DATASET}", "dataset:read", extra_constraints={ROWS: ["region = 'EMEA'"], COLUMNS: ["id", "Name"]}
        ),
        said(f"dataset:{DATASET}", "dataset:read", extra_constraints={COLUMNS: ["NAME", "id", "price"]}),
        said("dataset:*", "dataset:read"),
    )
    one_role: list[Json] = [{"role": ANALYST, "rows": ["region = 'EMEA'"], "columns": ["id", "Name"]}]
    assert ask(caller, "dataset:read", resource)["restrictions"] == one_role
    put(
        caller,
        "open",
        said(f"dataset:{DATASET}", "dataset:read", extra_constraints={ROWS: ["state = 'open'"]}),
        bound=(AUDITOR,),
    )
    both = [*one_role, {"role": AUDITOR, "rows": ["state = 'open'"], "columns": None}]
    assert ask(caller, "dataset:read", resource)["restrictions"] == both
    narrow = ask(caller, "dataset:read", resource | {"columns": ["PRICE", "name"]})
    assert narrow["restrictions"] == [one_role[0] | {"columns": ["Name"]}, both[1] | {"columns": ["PRICE", "name"]}]
    batch = caller.post(
        "/api/v1/authorize/batch",
        {"questions": [{"actor": "urn:li:corpuser:jo", "privilege": "dataset:read", "resource": resource}]},
        format="json",
    ).json()
    assert batch["decisions"][0]["restrictions"] == both
    put(caller, "free", said("dataset:*", "dataset:read"), bound=(AUDITOR,))
    assert ask(caller, "dataset:read", resource)["restrictions"] == both
    roles.create(identifier="free", name="free", description="", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:free", actors=["urn:li:corpuser:jo"], by=authorizer.SYSTEM, channel=DOOR)
    put(caller, "freer", said("dataset:*", "dataset:read"), bound=("urn:li:dataHubRole:free",))
    assert ask(caller, "dataset:read", resource)["restrictions"] is None


def test_dz_57_dz_59_no_column_left(caller: APIClient) -> None:
    resource = {"type": "dataset", "id": DATASET}
    put(caller, "ids", said(f"dataset:{DATASET}", "dataset:read", extra_constraints={COLUMNS: ["id"]}))
    found = ask(caller, "dataset:read", resource | {"columns": ["name"]})
    assert (found["decision"], found["code"], found["restrictions"]) == ("DENY", "no_columns", None)
    assert found["missing"] == []
    any_of = {"any_of": [["dataset:read"], ["dataset:write"]], "actor": "urn:li:corpuser:jo"}
    put(caller, "writes", said("dataset:*", "dataset:write"))
    answer = caller.post("/api/v1/authorize", {**any_of, "resource": resource | {"columns": ["name"]}}, format="json")
    assert answer.json()["decision"] == "ALLOW"
    put(caller, "names", said(f"dataset:{DATASET}", "dataset:read", extra_constraints={COLUMNS: ["name"]}))
    assert code(caller, "dataset:read", resource) == "no_columns"
    what = caller.post(
        "/api/v1/what", {"actor": "urn:li:corpuser:jo", "privilege": "dataset:read"}, format="json"
    ).json()
    assert what["results"] == []


def test_dz_63_to_dz_67_paths(caller: APIClient) -> None:
    resource = {"type": "project", "id": PROJECT}
    put(
        caller,
        "etl",
        said(f"project:{PROJECT}", "project:read_repository", extra_constraints={"path_prefix": "src/etl/"}),
        said(f"project:{PROJECT}", "project:read_repository", extra_constraints={"path_prefix": "docs"}),
    )
    found = ask(caller, "project:read_repository", resource)
    assert found["restrictions"] == [{"role": ANALYST, "rows": [], "columns": None, "paths": ["docs", "src/etl"]}]
    for path in ("src/etl", "src/etl/", "src/etl/a.py", "docs/x"):
        inside = ask(caller, "project:read_repository", resource | {"path": path})
        assert (inside["decision"], inside["restrictions"]) == ("ALLOW", None)
    for path in ("src", "src/etl2", "src/etl/../x", "/src/etl", "src//etl", "src\\etl", "./docs", "Docs"):
        assert code(caller, "project:read_repository", resource | {"path": path}) == "path_not_allowed"
    put(caller, "whole", said(f"project:{PROJECT}", "project:read_repository"), bound=(AUDITOR,))
    assert ask(caller, "project:read_repository", resource)["restrictions"] is None
    assert code(caller, "project:read_repository", resource | {"path": "elsewhere"}) == "allowed"
    assert code(caller, "project:read_repository", resource | {"path": "../elsewhere"}) == "path_not_allowed"


def test_dz_68_a_change_counts_from_the_next_question_and_answers_carry_the_version(caller: APIClient) -> None:
    resource = {"type": "dataset", "id": DATASET}
    before = ask(caller, "dataset:read", resource)["policy_version"]
    sent = body("reads", said(f"project:{PROJECT}:*", "*:read"))
    version = int(caller.post("/api/v1/policies/", sent, format="json")["Policy-Version"])
    found = ask(caller, "dataset:read", resource, at_least_version=version)
    assert (found["code"], found["policy_version"]) == ("allowed", version)
    assert version > before
    Entity.objects.filter(urn=SNOWFLAKE).delete()
    assert code(caller, "dataset:read", resource) == "implicit_deny"


def test_dz_69_what_came_close(caller: APIClient) -> None:
    put(caller, "dev", said(f"project:{PROJECT}:dataset:*", "dataset:read", branch="dev"))
    found = ask(caller, "dataset:read", {"type": "dataset", "id": LOOSE}, explain=True)
    (near,) = found["nearest"]
    assert {lack["part"] for lack in near["lacks"]} == {"resource", "branch"}
    texts = " ".join(lack["detail"] for lack in near["lacks"])
    assert "branch main, not dev" in texts
    assert "not in project" in texts
    made = ask(caller, "dataset:read", {"type": "dataset"}, explain=True)
    assert made["code"] == "implicit_deny"


def test_lists_hold_what_is_allowed_on_main(caller: APIClient) -> None:
    put(
        caller,
        "some",
        said(f"project:{PROJECT}:*", "*:read"),
        said("view:*", "view:read", branch="dev"),
        said(f"dataset:{LOOSE}", "dataset:read", extra_constraints={ROWS: ["a = 1"]}),
    )
    answer = caller.post("/api/v1/what", {"actor": "urn:li:corpuser:jo", "privilege": "dataset:read"}, format="json")
    assert {one["urn"] for one in answer.json()["results"]} == {SNOWFLAKE, f"urn:li:dataset:{LOOSE}"}


# -- policies ---------------------------------------------------------------------------------------------------------


def test_a_policy_is_returned_exactly_as_stored(caller: APIClient) -> None:
    sent = body("exact", said(f"dataset:{DATASET.upper()}", "dataset:read", "dataset:read", branch=None))
    sent |= {"description": "As the author wrote it.", "state": "INACTIVE"}
    created = caller.post("/api/v1/policies/", sent, format="json")
    assert created.status_code == 201, created.content
    found = caller.get("/api/v1/policies/urn%3Ali%3AdataHubPolicy%3Aexact/").json()
    assert found == created.json()
    assert found["document"] == sent["document"]
    assert (found["name"], found["state"], found["description"]) == ("exact", "INACTIVE", sent["description"])
    assert (found["family"], found["editable"], found["version"]) == ("datazone", True, 1)
    patched = caller.patch("/api/v1/policies/urn%3Ali%3AdataHubPolicy%3Aexact/", {"state": "ACTIVE"}, format="json")
    assert (patched.json()["state"], patched.json()["document"]) == ("ACTIVE", sent["document"])
    assert patched.json()["description"] == sent["description"]
    filters: dict[str, str] = {
        "family": "datazone",
        "privilege": "dataset:read",
        "actor": ANALYST,
        "resource": DATASET,
        "q": "exact",
    }
    listed = caller.get("/api/v1/policies/", filters).json()
    assert [one["name"] for one in listed["results"]] == ["exact"]
    assert caller.get("/api/v1/policies/", {**filters, "privilege": "dataset:write"}).json()["count"] == 0


def test_every_problem_of_a_policy_with_its_place(caller: APIClient) -> None:
    sent = body("bad", said("dataset:*", "project:read"), said("dataset:invalid-id", "*:*", effect="maybe"))
    sent["document"]["roles"] = [ANALYST, "urn:li:dataHubRole:nobody"]
    answer = caller.post("/api/v1/policies/", sent, format="json")
    assert pointers_of(answer) == {
        ("action.resource_mismatch", "/statements/0/actions/0"),
        ("resource.invalid_id", "/statements/1/resource"),
        ("effect.invalid", "/statements/1/effect"),
        ("role.unknown", "/roles/1"),
    }
    assert caller.get("/api/v1/policies/", {"family": "datazone"}).json()["count"] == 0
    checked = caller.post("/api/v1/policies/validate/", sent, format="json").json()
    assert checked["valid"] is False
    assert {one["code"] for one in checked["errors"]} == {code for code, _ in pointers_of(answer)}


def test_a_role_that_a_policy_names_stays(caller: APIClient) -> None:
    put(caller, "names", said("*", "*:read"), bound=(AUDITOR,))
    answer = caller.delete("/api/v1/roles/urn%3Ali%3AdataHubRole%3Aauditor/")
    assert "names" in problem_of(answer, 409)["detail"]
    assert caller.delete("/api/v1/policies/urn%3Ali%3AdataHubPolicy%3Anames/").status_code == 204
    assert caller.delete("/api/v1/roles/urn%3Ali%3AdataHubRole%3Aauditor/").status_code == 204
    restored = caller.post("/api/v1/policies/", body("again", said("*", "*:read"), bound=(AUDITOR,)), format="json")
    assert pointers_of(restored) == {("role.unknown", "/roles/0")}


def test_dz_71_the_built_in_admin(caller: APIClient) -> None:
    bootstrap.run()
    snapshot_store.reset()
    place = "/api/v1/policies/urn%3Ali%3AdataHubPolicy%3Adatazone-admin/"
    found = caller.get(place).json()
    assert (found["editable"], found["family"]) == (False, "datazone")
    assert caller.put(place, {"family": "datazone", "document": found["document"]}, format="json").status_code == 403
    assert caller.patch(place, {"state": "INACTIVE"}, format="json").status_code == 403
    assert caller.delete(place).status_code == 403
    roles.grant(urn="urn:li:dataHubRole:Admin", actors=["urn:li:corpuser:jo"], by=authorizer.SYSTEM, channel=DOOR)
    assert code(caller, "dataset:delete", {"type": "dataset", "id": DATASET}) == "allowed"
    assert code(caller, "endpoint:create", {"type": "endpoint"}) == "allowed"
    blocked = body("lockout", said("*", "*:*", effect="deny"), bound=("urn:li:dataHubRole:Admin",))
    answer = caller.post("/api/v1/policies/", blocked, format="json")
    assert pointers_of(answer) == {("statement.locks_out", "/statements/0")}
    assert caller.post("/api/v1/policies/validate/", blocked, format="json").json()["valid"] is False


def lints(client: APIClient, *statements: Json, **more: Any) -> set[tuple[str, str]]:
    """Return (code, pointer) of the hints about a draft."""
    answer = client.post("/api/v1/policies/validate/", body("draft", *statements, **more), format="json").json()
    assert answer["valid"], answer
    return {(one["code"], one["pointer"]) for one in answer["lints"]}


def test_dz_70_hints(caller: APIClient) -> None:
    read = said(f"dataset:{DATASET}", "dataset:read")
    assert lints(caller, read) == set()
    assert lints(caller, read, bound=()) == {("roles.none", "/roles")}
    assert lints(caller, said("dataset:*", "dataset:read", effect="deny"), read) == {
        ("statement.shadowed", "/statements/1")
    }
    assert lints(caller, said("dataset:*", "dataset:*"), read) == {("statement.covered", "/statements/1")}
    assert lints(caller, read, read) == {("statement.covered", "/statements/1")}
    assert lints(caller, said("dataset", "dataset:read")) == {("actions.without_create", "/statements/0/actions")}
    assert lints(caller, said("dataset", "dataset:manage")) == set()
    assert lints(caller, said("dataset:" + "e" * 24, "dataset:read")) == {("id.unknown", "/statements/0/resource")}
    assert lints(caller, said(f"project:{'9' * 24}:*", "*:read")) == {("id.unknown", "/statements/0/resource")}
    assert lints(caller, said("*", "*:*")) == {("statement.broad", "/statements/0")}
    assert lints(caller, said("dataset:*", "dataset:read", branch="dve")) == {
        ("branch.unknown", "/statements/0/branch")
    }
    assert lints(caller, said("view:*", "view:read", effect="deny")) == {("statement.needless_deny", "/statements/0")}
    assert lints(caller, said("variable:*", "variable:read", branch="dev")) == {
        ("branch.never", "/statements/0/branch"),
        ("branch.unknown", "/statements/0/branch"),
    }


def test_dz_70_hints_about_other_roles(caller: APIClient) -> None:
    limited = said(f"dataset:{DATASET}", "dataset:read", extra_constraints={ROWS: ["a = 1"]})
    put(caller, "auditors", said("dataset:*", "dataset:read"), bound=(AUDITOR,))
    assert lints(caller, limited) == {("restriction.lifted", "/statements/0")}
    put(caller, "others", limited, bound=(AUDITOR,))
    assert ("restriction.several", "/statements/0") in lints(caller, limited)
    put(caller, "dev", said("dataset:*", "dataset:read", branch="dev"), bound=(AUDITOR,))
    assert lints(caller, said("dataset:*", "dataset:read", branch="dev")) == set()


def test_the_registry_has_the_actions(caller: APIClient) -> None:
    found = caller.get("/api/v1/privileges/", {"family": "datazone", "page_size": "200"}).json()
    assert found["count"] == 14 * 6 + 2
    manage = next(one for one in found["results"] if one["name"] == "dataset:manage")
    assert manage["gives"] == ["dataset:create", "dataset:delete", "dataset:execute", "dataset:read", "dataset:write"]
    assert manage["resource_types"] == ["dataset"]
    granted = caller.post("/api/v1/granted-privileges", {"actor": "urn:li:corpuser:jo"}, format="json").json()
    assert not any(":" in name for name in granted["privileges"])
    hint = ask(caller, "dataset:reed", {"type": "dataset", "id": DATASET}, explain=True)["unknown"]
    assert hint[0]["did_you_mean"][0] == "dataset:read"


# -- the query --------------------------------------------------------------------------------------------------------


def render(client: APIClient, **more: Any) -> Any:
    """Ask for the query that shows jo the dataset."""
    sent = {"actor": "urn:li:corpuser:jo", "resource": {"type": "dataset", "id": DATASET}, "table": "scores"}
    return client.post("/api/v1/render", sent | more, format="json")


def test_dz_62_the_query(caller: APIClient) -> None:
    put(caller, "usa", said(f"dataset:{DATASET}", "dataset:read", extra_constraints={ROWS: ["country = 'USA'"]}))
    found = render(caller)
    assert (found.status_code, found.json()) == (200, {"sql": "SELECT * FROM scores WHERE (country = 'USA')"})
    put(
        caller,
        "ids",
        said(f"dataset:{DATASET}", "dataset:read", extra_constraints={ROWS: ["id > 1"], COLUMNS: ["id"]}),
        bound=(AUDITOR,),
    )
    assert pointers_of(render(caller)) == {("columns.needed", "/columns")}
    query = render(caller, columns=["id", "country", "note"], dialect="sqlite").json()["sql"]
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE scores (id, country, note)")
    database.executemany("INSERT INTO scores VALUES (?, ?, ?)", [(1, "USA", "x"), (2, "CH", "y"), (0, "CH", "z")])
    assert database.execute(query).fetchall() == [(1, "USA", "x"), (2, None, None)]


def test_the_query_knows_the_schema_of_the_catalog(caller: APIClient) -> None:
    fields: list[Json] = [
        {"fieldPath": path, "nativeDataType": "x", "type": {"type": {"com.linkedin.schema.StringType": {}}}}
        for path in ("[version=2.0].[type=struct].[type=string].id", "Region", "note")
    ]
    schema = {
        "schemaName": "scores",
        "platform": "urn:li:dataPlatform:snowflake",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    }
    apply.apply(
        proposals=[Proposal(SNOWFLAKE, "schemaMetadata", json.dumps(schema))], by=authorizer.SYSTEM, channel=DOOR
    )
    columns = ["REGION", "id", "secret"]
    put(
        caller,
        "some",
        said(f"dataset:{DATASET}", "dataset:read", extra_constraints={ROWS: ["region = 'x'"], COLUMNS: columns}),
    )
    assert render(caller, dialect="postgres").json()["sql"] == (
        'SELECT id, "Region" FROM scores WHERE ("Region" = \'x\')'
    )
    assert render(caller, columns=["region", "note"]).json()["sql"] == "SELECT Region FROM scores WHERE (Region = 'x')"
    assert problem_of(render(caller, columns=["note"]), 403)["code"] == "no_columns"


def test_the_query_is_refused_like_a_read(caller: APIClient) -> None:
    refused = problem_of(render(caller), 403)
    assert refused["code"] == "implicit_deny"
    assert refused["missing"] == [{"entity": SNOWFLAKE, "privilege": "dataset:read"}]
    put(caller, "no", said("*", "*:*", effect="deny"))
    assert problem_of(render(caller), 403)["code"] == "explicit_deny"
    assert pointers_of(render(caller, resource={"type": "dataset"})) == {("resource.no_table", "/resource")}
    assert pointers_of(render(caller, resource={"type": "notebook", "id": DATASET})) == {
        ("resource.no_table", "/resource")
    }
    assert {pointer for _, pointer in pointers_of(render(caller, dialect="oracle", columns=[]))} == {
        "/dialect",
        "/columns",
    }
    jo = {"table": "x", "resource": {"type": "dataset", "id": DATASET}}
    assert APIClient().post("/api/v1/render", jo, format="json").status_code == 401


def test_asking_for_somebody_else_needs_a_privilege(caller: APIClient, client_of: Callable[..., APIClient]) -> None:
    put(caller, "usa", said("dataset:*", "dataset:read"))
    assert render(client_of("stranger")).status_code == 403
    assert render(client_of("service", "CHECK_ACCESS")).status_code == 200


def test_an_action_about_another_type_is_refused(caller: APIClient) -> None:
    put(caller, "all", said("*", "*:*"))
    view, tag = {"type": "view", "id": "d" * 24}, {"urn": "urn:li:tag:pii"}
    jo = {"actor": "urn:li:corpuser:jo"}

    def problems(path: str, question: Json) -> list[tuple[str, str]]:
        answer = caller.post(path, question, format="json")
        if answer.status_code == 200:
            return []
        assert answer.status_code == 400, answer.content
        return [(one["code"], one["pointer"]) for one in answer.json()["errors"]]

    mismatch = "action.resource_mismatch"
    for resource in (tag, view, {"type": "view"}, {"urn": "urn:li:corpuser:jo"}):
        asked = {"privilege": "dataset:read", "resource": resource}
        assert problems("/api/v1/authorize", {**jo, **asked}) == [(mismatch, "/privilege")]
        assert problems("/api/v1/who", asked) == [(mismatch, "/privilege")]
    several = {**jo, "any_of": [["VIEW_ENTITY", "view:read"], ["dataset:read"], ["view:write"]], "resource": view}
    assert problems("/api/v1/authorize", several) == [(mismatch, "/any_of/1/0")]
    fitting: tuple[tuple[str, Json | None], ...] = (
        ("dataset:read", {"urn": SNOWFLAKE}),
        ("user:read", {"urn": "urn:li:corpuser:jo"}),
        ("role:read", {"urn": ANALYST}),
        ("view:create", {"type": "view", "project": PROJECT}),
        ("view:read", None),
        ("view:raed", tag),
        ("READ", tag),
    )
    for privilege, about in fitting:
        assert problems("/api/v1/authorize", {**jo, "privilege": privilege, "resource": about}) == []
    batch = {"questions": [{**jo, "privilege": "view:read", "resource": tag}, {"privilege": "view:read"}]}
    refused, answered = caller.post("/api/v1/authorize/batch", batch, format="json").json()["decisions"]
    assert refused["error"]["errors"][0]["code"] == mismatch
    assert answered["decision"] == "DENY"
    # AuthZEN, where the type of a resource is said.
    evaluation = {"subject": {"type": "user", "id": "jo"}, "resource": {"type": "tag", "id": "pii"}}
    answer = caller.post("/access/v1/evaluation", {**evaluation, "action": {"name": "view:read"}}, format="json")
    assert (answer.status_code, "view:read is for view" in answer.content.decode()) == (400, True)
    for search in ("subject", "resource"):
        body = {**evaluation, "action": {"name": "view:read"}, search: {"type": evaluation[search]["type"]}}
        assert caller.post(f"/access/v1/search/{search}", body, format="json").status_code == 400
    actions = caller.post("/access/v1/search/action", evaluation, format="json").json()["results"]
    assert not [one["name"] for one in actions if ":" in one["name"] and not one["name"].startswith("cdap:")]


def test_lists_are_of_the_type_of_the_action(caller: APIClient) -> None:
    put(caller, "all", said("*", "*:*"))

    def reached(privilege: str, **more: Any) -> set[str]:
        body = {"actor": "urn:li:corpuser:jo", "privilege": privilege, **more}
        answer = caller.post("/api/v1/what", body, format="json")
        assert answer.status_code == 200, answer.content
        found = answer.json()
        assert found["count"] == len(found["results"])
        return {one["type"] for one in found["results"]}

    assert reached("dataset:read") == {"dataset"}
    assert reached("project:read") == {"project"}
    assert reached("user:read") == {"corpuser"}
    assert reached("endpoint:read") == set()
    assert reached("dataset:read", type="dataset") == {"dataset"}
    body = {"privilege": "dataset:read", "type": "chart"}
    (problem,) = caller.post("/api/v1/what", body, format="json").json()["errors"]
    assert (problem["code"], problem["pointer"]) == ("action.resource_mismatch", "/type")
