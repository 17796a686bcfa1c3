"""Datazone documents: what is accepted, and every problem with its code and place (rules/datazone.md)."""

import copy
from typing import Any

import pytest

from policies.engine import families
from policies.engine.errors import InvalidPolicy
from policies.engine.families import datazone
from policies.engine.families.datazone_resource_patterns import (
    ResourcePattern,
    check_action,
    expand,
    list_actions,
    list_types,
    list_verbs,
    parse_pattern,
    unversioned_types,
)
from policies.engine.model import Effect, StatementOrigin
from policies.engine.selectors import NEVER_CRITERION

ID, OTHER = "507f1f77bcf86cd799439011", "66be5fc75158d037e9970c6d"
ROLE = "urn:li:dataHubRole:analyst"


def statement(**changes: Any) -> dict[str, Any]:
    """Return a valid statement with these fields changed; a field that is None is left out."""
    whole = {"resource": "dataset:*", "actions": ["dataset:read"], "effect": "allow"} | changes
    return {name: value for name, value in whole.items() if value is not ...}


def policy(*statements: Any, **changes: Any) -> dict[str, Any]:
    """Return a policy of these statements."""
    return {"name": "A policy", "statements": list(statements), "roles": [ROLE]} | changes


def problems(document: Any) -> set[tuple[str, str]]:
    """Return (code, pointer) of everything that is wrong."""
    try:
        datazone.parse(document)
    except InvalidPolicy as error:
        return {(problem.code, problem.pointer) for problem in error.problems}
    return set()


def of(**changes: Any) -> set[tuple[str, str]]:
    """Return (code, pointer inside the statement) of what is wrong with one statement."""
    found = problems(policy(statement(**changes)))
    return {(code, pointer.removeprefix("/statements/0")) for code, pointer in found}


def restricted(constraints: Any, resource: str = f"dataset:{ID}", actions: Any = ("dataset:read",), **more: Any) -> set:
    """Return what is wrong with a statement that carries these constraints."""
    return of(resource=resource, actions=list(actions), extra_constraints=constraints, **more)


# -- 1. policies and statements ---------------------------------------------------------------------------------------


def test_dz_1_a_policy_has_a_name_and_statements() -> None:
    assert problems(policy(statement())) == set()
    assert problems(policy(statement(), name=" ")) == {("policy.name", "/name")}
    assert problems({"statements": [statement()]}) == {("policy.name", "/name")}
    nothing: list[Any] = [[], None, "x", {}]
    for none in nothing:
        assert problems({"name": "x", "statements": none}) == {("policy.no_statements", "/statements")}
    assert problems([]) == {("type.object", "")}


def test_dz_1_one_bad_statement_makes_the_policy_bad_and_all_are_named() -> None:
    document = policy(
        statement(),
        statement(actions=["project:read"]),
        statement(resource="dataset:invalid-id", effect="Allow"),
        "no statement",
        name="",
    )
    assert problems(document) == {
        ("policy.name", "/name"),
        ("action.resource_mismatch", "/statements/1/actions/0"),
        ("resource.invalid_id", "/statements/2/resource"),
        ("effect.invalid", "/statements/2/effect"),
        ("type.object", "/statements/3"),
    }


def test_dz_1_the_document_is_stored_as_it_was_sent() -> None:
    sent = policy(statement(resource=f"dataset:{ID.upper()}", branch=None, extra_constraints={}), roles=[])
    before = copy.deepcopy(sent)
    assert datazone.parse(sent) == before
    assert list(datazone.parse(sent)) == list(before)


def test_dz_2_policies_bind_to_roles_and_to_nothing_else() -> None:
    assert problems(policy(statement(), roles=[])) == set()
    for stranger in ("urn:li:corpuser:jo", "urn:li:corpGroup:g", "*", "urn:li:dataHubRole:"):
        assert problems(policy(statement(), roles=[stranger])) == {("urn.type", "/roles/0")}
    assert problems(policy(statement(), users=["urn:li:corpuser:jo"])) == {("field.unknown", "/users")}
    unparsed = policy(statement(), roles=["*", "*group", "urn:li:corpuser:jo"])
    assert datazone.compile(unparsed, StatementOrigin("p", "p"))[0].actors.tokens == frozenset()


def test_dz_4_fields_of_a_statement() -> None:
    assert of(resource=..., actions=..., effect=...) == {
        ("statement.missing_field", "/resource"),
        ("statement.missing_field", "/actions"),
        ("statement.missing_field", "/effect"),
    }
    assert of(extra_constraint={}) == {("statement.unknown_field", "/extra_constraint")}
    assert of(branch="dev", extra_constraints={}) == set()


@pytest.mark.parametrize("effect", ["Allow", "DENY", "", None, True, ["allow"], "permit"])
def test_dz_5_effect_is_allow_or_deny(effect: Any) -> None:
    assert of(effect=effect) == {("effect.invalid", "/effect")}


def test_dz_6_actions_are_texts_and_at_least_one() -> None:
    assert of(actions=[]) == {("actions.empty", "/actions")}
    for wrong in ("dataset:read", None, {"dataset:read": 1}):
        assert of(actions=wrong) == {("actions.type", "/actions")}
    assert of(actions=["dataset:read", 7, None]) == {("actions.type", "/actions/1"), ("actions.type", "/actions/2")}
    twice = policy(statement(actions=["dataset:read", "dataset:read"]))
    assert datazone.compile(datazone.parse(twice), StatementOrigin("p", "p"))[0].privileges == {"dataset:read"}


@pytest.mark.parametrize("branch", ["*", "a b", "", " ", "a..b", "..", "feature/*", 7, ["main"], "a\tb"])
def test_dz_7_a_branch_is_a_name(branch: Any) -> None:
    assert of(branch=branch) == {("branch.invalid", "/branch")}


@pytest.mark.parametrize("branch", ["main", "dev", "feature/x-1", None, "v1.2"])
def test_dz_7_names_of_branches(branch: Any) -> None:
    assert of(branch=branch) == set()


# -- 2. patterns ------------------------------------------------------------------------------------------------------

VALID = [
    "*",
    "dataset",
    "dataset:*",
    f"dataset:{ID}",
    f"dataset:{ID.upper()}",
    "project",
    "project:*",
    f"project:{ID}",
    f"project:{ID}:*",
    f"project:{ID}:dataset:*",
    f"project:{ID}:dataset:{OTHER}",
    f"project:{ID}:intelligent_app:*",
]

INVALID = [
    ("", "resource.format"),
    ("Dataset:*", "resource.unknown_type"),
    ("DATASET", "resource.unknown_type"),
    (f"Dataset:{ID}", "resource.unknown_type"),
    (f"project:{ID}:Dataset:*", "resource.unknown_type"),
    ("dataset:INVALID", "resource.invalid_id"),
    ("dataset: *", "resource.format"),
    (" dataset:*", "resource.format"),
    ("datasets:*", "resource.unknown_type"),
    ("table", "resource.unknown_type"),
    ("dataset:", "resource.format"),
    (":dataset", "resource.format"),
    ("*:*", "resource.format"),
    ("*:read", "resource.format"),
    ("dataset:invalid-id", "resource.invalid_id"),
    (f"dataset:{ID}0", "resource.invalid_id"),
    (f"dataset:{ID[:-1]}g", "resource.invalid_id"),
    ("dataset:\uff15\uff10\uff17f1f77bcf86cd799439011", "resource.invalid_id"),
    (f"project:*:{ID}", "resource.format"),
    (f"dataset:*:{ID}", "resource.format"),
    ("project::dataset:*", "resource.format"),
    ("project:*:dataset:*", "resource.format"),
    (f"project:{ID}:dataset", "resource.format"),
    (f"project:{ID}:project:*", "resource.bad_parent"),
    (f"project:{ID}:project:{OTHER}", "resource.bad_parent"),
    (f"project:{ID}:table:*", "resource.unknown_type"),
    (f"project:{ID}:*:*", "resource.format"),
    (f"project:{ID}:dataset:x", "resource.invalid_id"),
    (f"project:{ID}:dataset:{OTHER}:*", "resource.format"),
    (f"dataset:{ID}:*", "resource.bad_parent"),
    (f"dataset:{ID}:view:*", "resource.bad_parent"),
    (f"dataset:{ID}\n", "resource.format"),
    ("d*:read", "resource.unknown_type"),
]


@pytest.mark.parametrize("pattern", VALID)
def test_dz_9_the_forms_of_a_pattern(pattern: str) -> None:
    assert isinstance(parse_pattern(pattern, ""), ResourcePattern)


@pytest.mark.parametrize(("pattern", "code"), INVALID)
def test_dz_9_dz_11_to_dz_14_anything_else_is_an_error(pattern: str, code: str) -> None:
    assert of(resource=pattern, actions=["*:*"]) == {(code, "/resource")}


def test_dz_8_fourteen_types() -> None:
    assert len(list_types()) == 14
    assert all(of(resource=f"{kind}:*", actions=[f"{kind}:read"]) == set() for kind in list_types())
    with pytest.raises(InvalidPolicy, match=r"Did you mean dataset\?"):
        datazone.parse(policy(statement(resource="datasets")))


def test_dz_9_a_resource_is_a_text() -> None:
    assert of(resource=None) == {("resource.format", "/resource")}
    assert of(resource=["dataset:*"]) == {("resource.format", "/resource")}


def test_dz_10_ids_in_any_case() -> None:
    found = parse_pattern(f"project:{ID.upper()}:dataset:{OTHER.upper()}", "")
    assert isinstance(found, ResourcePattern)
    assert (found.project, found.id) == (ID, OTHER)


def test_dz_13_what_cannot_be_read_allows_nothing_and_denies_everything() -> None:
    """An old document that `parse` would refuse today."""
    odd = policy(statement(resource="datasets:*"), statement(resource="datasets:*", effect="deny"))
    allow, deny = datazone.compile(odd, StatementOrigin("p", "p"))
    assert NEVER_CRITERION in allow.resources.criteria
    assert [criterion.field for criterion in deny.resources.criteria] == ["BRANCH"]


def test_dz_14_a_long_pattern_is_not_repeated_whole() -> None:
    with pytest.raises(InvalidPolicy) as raised:
        datazone.parse(policy(statement(resource="x" * 100_000)))
    assert len(raised.value.problems[0].detail) < 500


# -- 4. actions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "code"),
    [
        ("dataset", "action.format"),
        ("Dataset:Read", "action.format"),
        ("read", "action.format"),
        ("", "action.format"),
        ("dataset:read:all", "action.format"),
        ("dataset: read", "action.format"),
        ("dataset:_read", "action.format"),
        ("dataset:read\n", "action.format"),
        ("data*:read", "action.format"),
        ("dataset:re*", "action.format"),
        ("tables:read", "action.unknown_resource"),
        ("dataset:reed", "action.unknown_action"),
        ("dataset:invoke", "action.unknown_action"),
        ("dataset:read_repository", "action.unknown_action"),
    ],
)
def test_dz_24_to_dz_27_actions(action: str, code: str) -> None:
    assert of(actions=[action]) == {(code, "/actions/0")}


def test_dz_26_known_actions_and_did_you_mean() -> None:
    assert list_verbs("dataset") == ("read", "write", "delete", "create", "execute", "manage")
    assert set(list_actions()) == {f"{kind}:{verb}" for kind in list_types() for verb in list_verbs("dataset")} | {
        "project:read_repository",
        "endpoint:invoke",
    }
    for typo, meant in (("dataset:reed", "read"), ("Dataset:Read", "dataset:read"), ("endpoint:invok", "invoke")):
        with pytest.raises(InvalidPolicy) as raised:
            datazone.parse(policy(statement(resource="*", actions=[typo])))
        assert meant in raised.value.problems[0].detail


@pytest.mark.parametrize(
    ("resource", "action", "is_fine"),
    [
        ("dataset:*", "project:read", False),
        (f"project:{ID}:dataset:*", "dataset:read", True),
        (f"project:{ID}:dataset:*", "project:read", False),
        (f"project:{ID}", "dataset:read", False),
        ("dataset", "dataset:create", True),
        ("dataset", "view:create", False),
        ("dataset:*", "*:read", True),
        ("dataset:*", "*:*", True),
        ("*", "project:read", True),
        (f"project:{ID}:*", "view:write", True),
        (f"project:{ID}:*", "*:*", True),
        (f"project:{ID}:*", "project:read", False),
        (f"project:{ID}:*", "project:*", False),
    ],
)
def test_dz_28_dz_29_actions_are_for_the_type_of_the_pattern(resource: str, action: str, is_fine: bool) -> None:
    expected = set() if is_fine else {("action.resource_mismatch", "/actions/0")}
    assert of(resource=resource, actions=[action]) == expected


def test_dz_30_one_mismatch_is_an_error() -> None:
    assert of(actions=["dataset:read", "project:read", "*:read"]) == {("action.resource_mismatch", "/actions/1")}


def test_dz_31_to_dz_35_what_actions_stand_for() -> None:
    six = {f"dataset:{verb}" for verb in ("read", "write", "delete", "create", "execute", "manage")}
    assert expand(["dataset:write"]) == {"dataset:write"}
    assert expand(["dataset:manage"]) == six
    assert expand(["project:manage"]) == {name.replace("dataset", "project") for name in six}
    assert expand(["project:*"]) == expand(["project:manage"]) | {"project:read_repository"}
    assert expand(["endpoint:*"]) - expand(["endpoint:manage"]) == {"endpoint:invoke"}
    assert expand(["*:read"]) == {f"{kind}:read" for kind in list_types()}
    assert expand(["*:*"]) == set(list_actions())
    assert expand(["*:invoke"]) == {"endpoint:invoke"}
    manage = statement(actions=["dataset:manage"], effect="deny")
    (denied,) = datazone.compile(datazone.parse(policy(manage)), StatementOrigin("p", "p"))
    assert (denied.effect, set(denied.privileges)) == (Effect.DENY, six)


def test_the_vocabulary_of_the_family() -> None:
    known = families.get("datazone").load_vocabulary()
    assert known.names == set(list_actions())
    assert known.implying_privileges("dataset:read") == {"dataset:manage"}
    assert known.implying_privileges("endpoint:invoke") == set()
    assert known.suggest("dataset:reed")[0] == "dataset:read"
    assert known.privileges["endpoint:invoke"].resource_types == frozenset({"endpoint"})
    assert known.names.isdisjoint(families.get("datahub").load_vocabulary().names)


def test_dz_43_types_without_branches() -> None:
    assert unversioned_types() == {"user", "corpuser", "role", "dataHubRole", "api_key", "compute", "variable"}
    assert families.unversioned_types() == unversioned_types()


# -- 6. restrictions --------------------------------------------------------------------------------------------------

ROWS, COLUMNS, PATH = "row_level_restrictions", "column_level_restrictions", "path_prefix"
SOME_ROWS = {ROWS: ["country = 'USA'"]}


def at(code: str, place: str) -> set[tuple[str, str]]:
    """Return one problem at a place inside the constraints."""
    return {(code, f"/extra_constraints{place}")}


def test_dz_44_keys_of_constraints() -> None:
    assert restricted({}) == set()
    assert restricted(None) == set()
    assert restricted(SOME_ROWS) == set()
    assert restricted({"row_level_restriction": []}) == at("constraint.unknown_key", "/row_level_restriction")
    assert restricted([]) == at("constraint.type", "")
    assert restricted("x") == at("constraint.type", "")


def test_dz_45_one_dataset_or_view_by_id() -> None:
    assert restricted(SOME_ROWS, f"view:{ID}", ["view:read"]) == set()
    wrong = {("constraint.resource_not_specific", "/resource")}
    assert restricted(SOME_ROWS, "dataset:*") == wrong
    assert restricted({COLUMNS: ["id"]}, "*") == wrong
    assert restricted(SOME_ROWS, "dataset") == wrong
    assert restricted(SOME_ROWS, "view", ["view:read"]) == wrong
    assert restricted(SOME_ROWS, f"notebook:{ID}", ["notebook:read"]) == wrong | {
        ("constraint.action_not_read", "/actions/0")
    }


def test_dz_46_exactly_the_read_action() -> None:
    assert restricted(SOME_ROWS, actions=["dataset:read", "dataset:read"]) == set()
    assert restricted(SOME_ROWS, actions=["dataset:read", "dataset:write"]) == {
        ("constraint.multiple_actions", "/actions"),
        ("constraint.action_not_read", "/actions/1"),
    }
    for action in ("dataset:*", "*:read", "*:*"):
        assert restricted(SOME_ROWS, actions=[action]) == {("constraint.wildcard_action", "/actions/0")}
    for action in ("dataset:write", "dataset:manage"):
        assert restricted(SOME_ROWS, actions=[action]) == {("constraint.action_not_read", "/actions/0")}


def test_dz_47_not_inside_a_project() -> None:
    assert restricted(SOME_ROWS, f"project:{OTHER}:dataset:{ID}") == {("constraint.resource_not_specific", "/resource")}


def test_dz_48_lists_of_texts() -> None:
    for name in (ROWS, COLUMNS):
        assert restricted({name: []}) == at("constraint.empty", f"/{name}")
        assert restricted({name: " "}) == at("constraint.type", f"/{name}")
        assert restricted({name: None}) == at("constraint.type", f"/{name}")
        assert restricted({name: [" "]}) == at("constraint.empty", f"/{name}/0")
        assert restricted({name: ["a", 7]}) == at("constraint.type", f"/{name}/1")
    document = policy(
        statement(resource=f"dataset:{ID}", extra_constraints={ROWS: ["a = 1", "a = 1"], COLUMNS: ["id", "id"]})
    )
    (compiled,) = datazone.compile(datazone.parse(document), StatementOrigin("p", "p"))
    assert compiled.restriction is not None
    assert (compiled.restriction.rows, compiled.restriction.columns) == (("a = 1",), ("id",))


def test_dz_49_a_deny_carries_none() -> None:
    assert restricted(SOME_ROWS, effect="deny") == at("constraint.deny", "")
    assert restricted({}, effect="deny") == set()
    assert of(resource=f"project:{ID}", actions=["project:read"], effect="deny", extra_constraints={PATH: "src"}) == at(
        "constraint.deny", ""
    )


def test_dz_50_conditions_are_checked_where_they_stand() -> None:
    assert restricted({ROWS: ["a = 1", "a = 1; DROP TABLE x", "sum(a) > 1"]}) == {
        ("constraint.sql", f"/extra_constraints/{ROWS}/1"),
        ("constraint.sql", f"/extra_constraints/{ROWS}/2"),
    }
    with pytest.raises(InvalidPolicy) as raised:
        datazone.parse(policy(statement(resource=f"dataset:{ID}", extra_constraints={ROWS: ["a" * 100_000]})))
    assert len(raised.value.problems[0].detail) < 300


# -- 7. paths ---------------------------------------------------------------------------------------------------------


def test_dz_63_a_path_goes_with_one_project() -> None:
    fine = {"resource": f"project:{ID}", "extra_constraints": {PATH: "src/etl/"}}
    assert of(actions=["project:read", "project:write", "project:read_repository"], **fine) == set()
    wrong = at("constraint.path", f"/{PATH}")
    for action in ("project:delete", "project:*", "*:*", "project:manage"):
        assert of(actions=[action], **fine) == wrong
    for resource in ("project:*", f"project:{ID}:*", "project", "*"):
        assert wrong <= of(resource=resource, actions=["*:read"], extra_constraints={PATH: "src"})
    assert wrong <= restricted({PATH: "src"})


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/src",
        "src//etl",
        "./src",
        "src/./a",
        "../x",
        "src/..",
        "a\\b",
        " /x/..",
        None,
        7,
        ["src"],
        "a\x00b",
        "a//",
    ],
)
def test_dz_64_a_path_is_relative_and_plain(path: Any) -> None:
    found = of(resource=f"project:{ID}", actions=["project:read"], extra_constraints={PATH: path})
    assert at("constraint.path", f"/{PATH}") <= found


def test_what_a_policy_binds_and_mentions() -> None:
    document = policy(statement(), statement(resource=f"dataset:{ID}"), roles=[ROLE, 7, "x"])
    assert datazone.required_urns(document) == (("/roles/0", ROLE),)
    assert datazone.required_urns(["x"]) == datazone.required_urns({"roles": "x"}) == ()
    assert [set(found) for found in datazone.document_terms(document)] == [
        {"dataset:read"},
        {"dataset:*", f"dataset:{ID}"},
    ]


@pytest.mark.parametrize(
    ("resource", "action", "hint"),
    [
        ("dataset:*", "read", "dataset:read"),
        (f"project:{ID}:notebook:*", "Execute", "notebook:execute"),
        ("*", "read", "*:read"),
        ("dataset:*", "Dataset:Write", "dataset:write"),
        ("endpoint:*", "invok", "endpoint:invoke"),
    ],
)
def test_an_action_without_a_type_is_taken_for_one_of_the_statement(resource: str, action: str, hint: str) -> None:
    pattern = parse_pattern(resource, "")
    assert isinstance(pattern, ResourcePattern)
    problem = check_action(action, pattern, "")
    assert problem is not None
    assert (problem.code, problem.detail.rpartition("did you mean ")[2]) == ("action.format", f"{hint}?")
