"""Datazone worlds: people, objects and policies as plain data, in the shapes of `tests.oracle_datazone`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from policies.engine import selectors
from policies.engine.evaluate import decide
from policies.engine.families import datazone, unversioned_types
from policies.engine.model import Actor, Decision, Question, StatementOrigin
from policies.engine.postings import Postings
from policies.engine.requested_columns import apply_requested_columns
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from tests.strategies import Dice, rolled

POLICY = "urn:li:dataHubPolicy:"
USERS = [f"urn:li:corpuser:{name}" for name in "abc"]
GROUPS = ["urn:li:corpGroup:g"]
ROLES = [f"urn:li:dataHubRole:{name}" for name in "rst"]

IDS = [digit * 24 for digit in "abc"]
PROJECTS = [digit * 24 for digit in "12"]
TYPES = ["dataset", "view", "notebook", "variable", "project"]
BRANCHES = [None, None, None, "main", "dev"]
ACTIONS = ["dataset:read", "dataset:write", "dataset:create", "view:read", "project:read", "project:read_repository"]
ROWS = ["a > 1", "b = 'x'", "a = 1 OR b = 'y'", "c IS NOT NULL"]
COLUMNS = ["a", "B", "c"]
PATHS = ["src", "src/etl/", "docs"]

#: Objects of the generated worlds; the last has no object id, and the one before is not stored.
OBJECTS = [
    *(f"urn:li:{kind}:{identifier}" for kind in ("dataset", "view", "notebook", "variable") for identifier in IDS[:2]),
    *(f"urn:li:project:{identifier}" for identifier in PROJECTS),
    "urn:li:dataset:(urn:li:dataPlatform:hive,sales,PROD)",
]
LOOSE = "urn:li:dataset:(urn:li:dataPlatform:hive,loose,PROD)"
UNKNOWN = f"urn:li:dataset:{IDS[2]}"
PLACES: list[dict[str, Any]] = [
    *({"urn": urn} for urn in [*OBJECTS, LOOSE, UNKNOWN]),
    *({"urn": None, "type": kind, "project": project} for kind in TYPES for project in [None, *PROJECTS]),
]

_FACT_BYTES, _POLICY_BYTES, _MOST_POLICIES = 90, 110, 5


@dataclass
class World:
    """`raw` and `policies` have the shapes that the oracle describes."""

    raw: dict[str, Any]
    policies: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def actor(self, urn: str) -> Actor:
        """Return the engine's actor."""
        groups = frozenset(group for user, group in self.raw["memberships"] if user == urn)
        roles = frozenset(role for holder, role in self.raw["roles"] if holder in groups | {urn})
        return Actor(urn, groups, roles, is_active=urn not in self.raw["suspended"])

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the policies, each of which `parse` accepts."""
        compiled = [
            (f"{POLICY}{name}", datazone.compile(datazone.parse(document), StatementOrigin(f"{POLICY}{name}", name)))
            for name, document in self.policies
        ]
        return Snapshot.build(1, compiled)

    def resource(self, question: dict[str, Any]) -> Resource:
        """Return the engine's resource, with all facets that Datazone tests."""
        urn = question.get("urn")
        if urn is None:
            kind, found, creation = question["type"], {"id": None, "project": question.get("project")}, selectors.YES
        else:
            named = {"id": urn[-24:] if urn == UNKNOWN else None, "project": None}
            found, kind, creation = self.raw["objects"].get(urn, named), urn.split(":")[2], selectors.NO
        branch = (
            selectors.MAIN_BRANCH if kind in unversioned_types() else question.get("branch") or selectors.MAIN_BRANCH
        )
        facets = {
            selectors.ID: _set(found["id"]),
            selectors.PROJECT: _set(found["project"]),
            selectors.CREATION: _set(creation),
            selectors.BRANCH: _set(branch),
        }
        return Resource(urn or "", kind, facets)

    def decide(self, snapshot: Snapshot, question: dict[str, Any]) -> Decision:
        """Return the engine's decision."""
        asked = Question(self.actor(question["actor"]), question["action"], self.resource(question))
        return apply_requested_columns(
            decide(snapshot, asked), columns=question.get("columns"), path=question.get("path")
        )

    def postings(self) -> Postings:
        """Return the postings of all stored objects; creation and branch need none."""
        urns = sorted(self.raw["objects"])
        rows = [
            (number, name, value, "")
            for number, urn in enumerate(urns)
            for name, key in ((selectors.ID, "id"), (selectors.PROJECT, "project"))
            if (value := self.raw["objects"][urn][key]) is not None
        ]
        types = [urn.split(":")[2] for urn in urns]
        return Postings(urns=urns, types=types, fields={selectors.ID, selectors.PROJECT}, rows=rows)


def read(decision: Decision) -> dict[str, Any]:
    """Return a decision in the oracle's words."""
    slices = None
    if decision.slices is not None:
        slices = [
            {
                "role": one.role,
                "rows": sorted(one.rows),
                "columns": None if one.columns is None else {name.lower() for name in one.columns},
                "paths": list(one.paths or ()),
            }
            for one in decision.slices
        ]
    because = sorted((one.origin.policy.removeprefix(POLICY), one.origin.index) for one in decision.statements)
    return {"allowed": decision.is_allowed, "code": decision.code.value, "because": because, "slices": slices}


def _set(value: str | None) -> frozenset[str]:
    return frozenset() if value is None else frozenset((value,))


# -- generated worlds -------------------------------------------------------------------------------------------------


def worlds() -> st.SearchStrategy[World]:
    """Draw a world with up to five policies."""
    return rolled(_FACT_BYTES + _MOST_POLICIES * _POLICY_BYTES + 1, _world)


def questions() -> st.SearchStrategy[dict[str, Any]]:
    """Draw one question."""
    return rolled(12, _question)


def every_question() -> list[dict[str, Any]]:
    """Return every question without columns and paths, on main and on another branch."""
    return [
        {"actor": actor, "action": action, "branch": branch, **place}
        for actor in USERS
        for action in ACTIONS
        for branch in (None, "dev")
        for place in PLACES
    ]


def _question(dice: Dice) -> dict[str, Any]:
    return {
        "actor": dice.pick(*USERS),
        "action": dice.pick("dataset:read", "dataset:read", "project:read", *ACTIONS),
        "branch": dice.pick(*BRANCHES),
        **dice.pick({"urn": OBJECTS[0]}, {"urn": OBJECTS[0]}, {"urn": f"urn:li:project:{PROJECTS[0]}"}, *PLACES),
        "columns": dice.pick(None, ["a"], ["A", "b"], ["C"], ["nothing"]),
        "path": dice.pick(None, "src", "src/etl/a.py", "src2", "docs/", "../x", "src//a"),
    }


def _world(dice: Dice) -> World:
    raw = {
        "users": USERS,
        "suspended": [USERS[2]] if dice.seldom() else [],
        "groups": GROUPS,
        "memberships": [[USERS[0], GROUPS[0]]] if dice.pick(True, False) else [],
        "roles": [[holder, role] for holder in [*USERS, *GROUPS] for role in ROLES if dice.pick(True, False)],
        "objects": {urn: _object(dice, urn) for urn in [*OBJECTS, LOOSE]},
    }
    return World(raw, [(f"p{index}", _policy(dice)) for index in range(dice.pick(*range(1, _MOST_POLICIES + 1)))])


def _object(dice: Dice, urn: str) -> dict[str, Any]:
    kind, key = urn.split(":")[2], urn.split(":", 3)[3]
    identifier = None if urn == LOOSE else key if len(key) == 24 else "d" * 24
    project = None if kind in ("project", "variable") else dice.pick(None, *PROJECTS)
    return {"type": kind, "id": identifier, "project": project}


def _policy(dice: Dice) -> dict[str, Any]:
    number = dice.pick(1, 2, 3)
    return {
        "name": "A policy",
        "statements": [_statement(dice) for _ in range(number)],
        "roles": dice.some(ROLES),
    }


def _statement(dice: Dice) -> dict[str, Any]:
    if dice.pick(False, True):
        return _restricted(dice)
    kind = dice.pick("dataset", "dataset", "view", "project", "variable")
    child = dice.pick("dataset", "view")
    pattern, actions = dice.pick(
        ("*", ["*:*", "*:read", "dataset:read", "dataset:manage", "project:*"]),
        (kind, [f"{kind}:create", f"{kind}:*", "*:*", f"{kind}:manage"]),
        (f"{kind}:*", [f"{kind}:read", f"{kind}:*", "*:read", f"{kind}:manage"]),
        (f"{kind}:{dice.pick(*IDS, *PROJECTS)}", [f"{kind}:read", f"{kind}:*", f"{kind}:write"]),
        (f"project:{dice.pick(*PROJECTS)}:*", ["*:*", "*:read", "dataset:read", "dataset:create"]),
        (f"project:{dice.pick(*PROJECTS)}:{child}:*", [f"{child}:*", f"{child}:read", "*:manage", f"{child}:create"]),
        (f"project:{dice.pick(*PROJECTS)}:{child}:{dice.pick(*IDS)}", [f"{child}:read", "*:*"]),
    )
    found = {
        "resource": pattern,
        "actions": dice.some(actions, 2) or [actions[0]],
        "effect": dice.pick("allow", "allow", "allow", "deny"),
    }
    branch = dice.pick(*BRANCHES)
    return found if branch is None and dice.pick(True, False) else found | {"branch": branch}


def _restricted(dice: Dice) -> dict[str, Any]:
    if dice.seldom():
        actions = dice.some(["project:read", "project:write", "project:read_repository"]) or ["project:read"]
        constraints: dict[str, Any] = {"path_prefix": dice.pick(*PATHS)}
        resource = f"project:{dice.pick(PROJECTS[0], *PROJECTS)}"
    else:
        kind = dice.pick("dataset", "dataset", "view")
        actions, resource = [f"{kind}:read"], f"{kind}:{dice.pick(IDS[0], IDS[0], IDS[0].upper(), IDS[1], 'd' * 24)}"
        constraints = {}
        if dice.pick(True, False):
            constraints["row_level_restrictions"] = dice.some(ROWS) or [ROWS[0]]
        if dice.pick(True, False) or not constraints:
            constraints["column_level_restrictions"] = dice.some(COLUMNS) or ["a"]
    return {"resource": resource, "actions": actions, "effect": "allow", "extra_constraints": constraints}


def listed(numbers: Iterable[int], urns: list[str]) -> list[str]:
    """Return the URNs of entity numbers, sorted."""
    return sorted(urns[number] for number in numbers)
