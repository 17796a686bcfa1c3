"""Conditions, hierarchies and deny policies of Google Cloud, without Spark: decision tables of their parsers."""

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from catalog.warehouses.bigquery.conditions import ConditionState, judge_condition
from catalog.warehouses.bigquery.denials import parse_denials
from catalog.warehouses.bigquery.description import BIGQUERY
from catalog.warehouses.bigquery.hierarchy import BadLine, build_hierarchy, parse_node
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.warehouse import Export

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
OLD, NEW = 'timestamp("2020-01-01T00:00:00Z")', "timestamp('2199-01-01T00:00:00.000+02:00')"
TAG = 'resource.matchTag("900/stage", "test")'
OURS, OTHERS = 'resource.service == "bigquery.googleapis.com"', 'resource.service == "storage.googleapis.com"'
EXPORT = Export(name="e", platform="bigquery", warehouse=BIGQUERY, grants=("g",), email_domain="x.example")

# condition | state
STATES = f"""
                                            | HOLDS
request.time < {NEW}                        | HOLDS
request.time <= {OLD}                       | EXPIRED
{OLD} > request.time                        | EXPIRED
request.time >= {NEW}                       | EARLY
{NEW} < request.time                        | EARLY
request.time > {OLD} && request.time < {NEW} | HOLDS
request.time > {NEW} && request.time < {OLD} | EXPIRED
(request.time < {OLD}) or_else request.time > {NEW} | EARLY
((({OURS}) && (request.time < {NEW})))      | HOLDS
!(request.time < {NEW})                     | EARLY
!(request.time >= {OLD})                    | EXPIRED
!(request.time < {OLD} && {TAG})            | HOLDS
!!(request.time < {OLD})                    | EXPIRED
{OTHERS}                                    | OUTSIDE
!({OTHERS})                                 | HOLDS
"bigquery.googleapis.com" == resource.service | HOLDS
resource.type != "bigquery.googleapis.com/Table" | OUTSIDE
resource.type in ["a", "bigquery.googleapis.com/Table"] | HOLDS
resource.type in []                         | OUTSIDE
resource.type.startsWith("bigquery.googleapis.com/") | HOLDS
{TAG}                                       | UNKNOWN
{TAG} && request.time < {OLD}               | EXPIRED
{TAG} && {OTHERS}                           | OUTSIDE
{TAG} or_else true                          | HOLDS
{TAG} or_else request.time < {OLD}          | UNKNOWN
{TAG} ? {OTHERS} : false                    | OUTSIDE
request.time < {NEW} ? {OURS} : {TAG}       | HOLDS
request.time.getHours("Europe/Berlin") < 17 | UNKNOWN
request.time < {OLD} + duration("9s")       | UNKNOWN
api.getAttribute("x", [])["y"] == -1        | UNKNOWN
nobodyKnows(1, 2.5)                         | UNKNOWN
resource.name.contains("a")                 | UNKNOWN
resource.name.extract("no variable") == "a" | UNKNOWN
resource.name.extract("/a/{{b}}/") == ""    | UNKNOWN
resource.name.extract("/a/{{b}}/") == "b/c" | OUTSIDE
resource.name == "a"                        | BY_NAME
resource.name == "a" && {TAG}               | UNKNOWN
resource.name == "a" && request.time < {OLD} | EXPIRED
"""
T = "projects/p/datasets/d/tables/"
# condition | names for which it holds | names for which it does not
NAMES = f"""
resource.name == "{T}a"                           | {T}a           | {T}ab {T}b
resource.name != "{T}a"                           | {T}ab {T}b     | {T}a
"{T}a" == resource.name                           | {T}a           | {T}b
resource.name.startsWith("{T}")                   | {T}a {T}b      | projects/p/datasets/dd/tables/a
resource.name.startsWith(r"{T}a.b")               | {T}a.b         | {T}acb
resource.name.endsWith("_raw")                    | {T}a_raw       | {T}_rawa
!resource.name.endsWith("_raw") && {OURS}         | {T}a           | {T}a_raw
resource.name.endsWith("a") or_else resource.name.endsWith("b") | {T}a {T}b | {T}c
resource.name.startsWith("{T}a") && resource.name.endsWith("z") | {T}a_z    | {T}a {T}z
resource.name in ["{T}a", "{T}b"]                 | {T}a {T}b      | {T}c
resource.name.extract("/datasets/{{d}}/") == "d"    | {T}a {T}d      | projects/p/datasets/dd/tables/a projects/d/tables/d
resource.name.extract("/tables/{{t}}") == "a"       | {T}a           | {T}ab
resource.name.extract("{{p}}/datasets") == "projects/p" | {T}a       | projects/pp/datasets/d/tables/a
resource.name.extract("/datasets/{{d}}/").startsWith("d") | {T}a projects/p/datasets/dd/tables/a | projects/p/datasets/e/tables/d
resource.name.endsWith("a") ? resource.name.startsWith("{T}") : {OTHERS} | {T}a | {T}b other/a
"""  # noqa: E501 - a table
# condition | problem
BAD = """
request.time <                       | Its condition ends too early.
(request.time                        | Its condition ends too early.
request.time < timestamp("soon")     | Its condition has 'soon' in place of a time.
request.time < timestamp(1)          | Its condition has '' in place of a time.
a b                                  | Its condition has an unexpected 'b'.
a && && b                            | Its condition has an unexpected '&&'.
a)                                   | Its condition has an unexpected ')'.
f(1,)                                | Its condition has an unexpected ')'.
a.                                   | Its condition ends too early.
a.1                                  | Its condition has an unexpected '1'.
a ? b                                | Its condition ends too early.
"open                                | Its condition has a '"' at 1 that begins nothing.
a # b                                | Its condition has a '#' at 3 that begins nothing.
"""


def cells(text: str, size: int) -> list[list[str]]:
    """Return the rows of a table; `or_else` stands for the two bars of the language."""
    lines = (line for line in text.splitlines() if line.strip())
    return [[cell.strip().replace("or_else", "||") for cell in line.split("|", size - 1)] for line in lines]


@pytest.mark.parametrize(("condition", "state"), cells(STATES, 2))
def test_what_a_condition_comes_to(condition: str, state: str) -> None:
    assert judge_condition(condition, NOW).state == ConditionState(state)


@pytest.mark.parametrize(("condition", "inside", "outside"), cells(NAMES, 3))
def test_for_which_tables_a_condition_holds(condition: str, inside: str, outside: str) -> None:
    judgement = judge_condition(condition, NOW)
    assert judgement.state == ConditionState.BY_NAME
    found = {name: bool(re.search(str(judgement.names), name)) for name in (inside + " " + outside).split()}
    assert found == {**dict.fromkeys(inside.split(), True), **dict.fromkeys(outside.split(), False)}


@pytest.mark.parametrize(("condition", "problem"), cells(BAD, 2))
def test_why_a_condition_cannot_be_read(condition: str, problem: str) -> None:
    judgement = judge_condition(condition, NOW)
    assert (judgement.state, judgement.problem) == (ConditionState.BAD, problem)


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("(" * 9_000 + "a", "Its condition ends too early."),
        ("!" * 9_000 + "a", "Its condition is nested too deeply."),
        ("a.b" + ".c" * 10_000, "Its condition is too long."),
        (" && ".join(["a"] * 10_000), "Its condition is too long."),
    ],
)
def test_a_condition_is_bounded(condition: str, problem: str) -> None:
    assert judge_condition(condition, NOW).problem == problem


def test_long_chains_are_read() -> None:
    assert judge_condition(" && ".join(["true"] * 150), NOW).state == ConditionState.HOLDS
    assert judge_condition("a" + ".b" * 150, NOW).state == ConditionState.UNKNOWN


# -- hierarchies ------------------------------------------------------------------------------------------------------

ASSET = "//cloudresourcemanager.googleapis.com/"


@pytest.mark.parametrize(
    ("line", "names", "ancestors"),
    [
        (
            {"name": f"{ASSET}projects/p", "project": "projects/12", "folders": ["folders/8"]},
            ["projects/p", "projects/12"],
            ["folders/8"],
        ),
        (
            {"name": "folders/8", "parent": "organizations/7"},
            ["folders/8"],
            ["organizations/7"],
        ),
        (
            {"projectId": "p", "projectNumber": 12, "name": "Any name", "parent": {"type": "folder", "id": "8"}},
            ["projects/p", "projects/12"],
            ["folders/8"],
        ),
        (
            {"name": f"{ASSET}projects/12", "resource": {"data": {"projectId": "p"}}, "ancestors": ["folders/8", 1]},
            ["projects/12", "projects/p"],
            ["folders/8"],
        ),
    ],
)
def test_a_line_is_a_project_or_a_folder(line: dict[str, Any], names: list[str], ancestors: list[str]) -> None:
    node = parse_node(json.dumps(line))
    assert (list(node.names), list(node.ancestors)) == (names, ancestors)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("no json", "It is no JSON."),
        ("[" * 100_000, "It is no JSON."),
        ("[]", "It is no JSON object."),
        ('"projects/p"', "It is no JSON object."),
        ("{}", "It names no project or folder."),
        ('{"name": 5, "parent": "folders/8"}', "It names no project or folder."),
    ],
)
def test_why_a_line_of_a_hierarchy_cannot_be_read(line: str, problem: str) -> None:
    with pytest.raises(BadLine, match=f"^{re.escape(problem)}$"):
        parse_node(line)


def test_what_a_folder_is_in_its_projects_are_in() -> None:
    lines: list[dict[str, Any]] = [
        {"projectId": "p", "projectNumber": "12", "parent": {"type": "folder", "id": "8"}},
        {"name": "folders/8", "parent": "folders/9"},
        {"name": "folders/9", "parent": "organizations/7"},
        # Folders in a circle end, too.
        {"name": "folders/1", "parent": "folders/2"},
        {"name": "folders/2", "parent": "folders/1"},
    ]
    hierarchy = build_hierarchy(parse_node(json.dumps(line)) for line in lines)
    assert all("p" in hierarchy.projects[name] for name in ("folders/8", "folders/9", "organizations/7"))
    assert hierarchy.find_project("projects/12") == "p"
    assert hierarchy.projects["folders/1"] == frozenset()


# -- deny policies ----------------------------------------------------------------------------------------------------

NAME = "policies/cloudresourcemanager.googleapis.com%2Fprojects%2F12/denypolicies/one"
READING = "bigquery.googleapis.com/tables.getData"
GROUP = "principalSet://goog/group/crew@x.example"


def policy(**rule: Any) -> str:
    return json.dumps({"name": NAME, "rules": [{"denyRule": {"deniedPermissions": [READING], **rule}}]})


@pytest.mark.parametrize(
    ("rule", "principals", "is_certain"),
    [
        ({"deniedPrincipals": [GROUP]}, [("ROLE", "crew")], True),
        ({"deniedPrincipals": ["principal://goog/subject/Ann@x.example"]}, [("USER", "ann")], True),
        ({"deniedPrincipals": ["principalSet://goog/public:all"]}, [("", "*")], True),
        (
            {"deniedPrincipals": ["principal://iam.googleapis.com/projects/-/serviceAccounts/Bot@p.iam"]},
            [("ROLE", "serviceaccount:bot@p.iam")],
            True,
        ),
        # A set of which nothing tells who is in it denies nobody, and may exempt anybody.
        ({"deniedPrincipals": ["principalSet://goog/cloudIdentityCustomerId/C01"]}, [], True),
        ({"deniedPrincipals": [GROUP], "exceptionPrincipals": ["principalSet://else"]}, [("ROLE", "crew")], False),
    ],
)
def test_whom_a_rule_denies(rule: dict[str, Any], principals: list[tuple[str, str]], is_certain: bool) -> None:
    (found,) = parse_denials(EXPORT, policy(**rule))
    assert (found.attachment, list(found.principals), found.is_certain) == ("projects/12", principals, is_certain)


@pytest.mark.parametrize(
    ("denied", "left_out", "level"),
    [
        ("tables.getData", "", READ),
        ("*.getData", "", READ),
        ("tables.*", "", WRITE),
        ("*.*", "", ADMIN),
        # Who may change tables still has access, even if he reads nothing.
        ("tables.*", "tables.updateData", READ),
        ("*.*", "datasets.update", READ),
    ],
)
def test_the_access_that_a_rule_takes_away(denied: str, left_out: str, level: int) -> None:
    permissions, exceptions = ([f"bigquery.googleapis.com/{name}"] if name else [] for name in (denied, left_out))
    (rule,) = parse_denials(EXPORT, policy(deniedPermissions=permissions, exceptionPermissions=exceptions))
    assert rule.level == level


@pytest.mark.parametrize(
    "rule", [{"deniedPermissions": ["bigquery.googleapis.com/datasets.delete"]}, {"exceptionPermissions": [READING]}]
)
def test_rules_about_something_else(rule: dict[str, Any]) -> None:
    assert parse_denials(EXPORT, policy(**rule)) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "It is no JSON."),
        ("5", "It is no JSON object."),
        ("{}", "It does not name what a deny policy is attached to."),
        (json.dumps({"name": "projects/p", "rules": []}), "It does not name what a deny policy is attached to."),
        (json.dumps({"name": NAME}), "It has no list of rules."),
        (json.dumps({"name": NAME, "rules": {}}), "It has no list of rules."),
        (json.dumps({"name": NAME, "rules": [5]}), "One of its rules denies nothing."),
        (json.dumps({"name": NAME, "rules": [{"denyRule": {}}]}), "One of its rules denies nothing."),
        (policy(denialCondition=5), "One of its conditions has no expression."),
        (policy(denialCondition={"title": "t"}), "One of its conditions has no expression."),
    ],
)
def test_why_a_deny_policy_cannot_be_read(line: str, problem: str) -> None:
    with pytest.raises(BadLine, match=f"^{re.escape(problem)}$"):
        parse_denials(EXPORT, line)
