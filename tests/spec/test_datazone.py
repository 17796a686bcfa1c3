"""The decision tables of Datazone, each run by the oracle, the engine, all entities at once, and over HTTP.

Chapters are Markdown in `datazone/`, fenced blocks as in `tables.py`: a world (`object` and `bare` are entities with
and without an object id), policies by short id, and questions with their answers. In policies `<name>` is the object id
of what is called so, `<NAME>` the same in capitals.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.engine import reach_index
from tests import oracle_datazone as oracle
from tests.worlds_datazone import POLICY, World, read

Question = dict[str, Any]
Answer = dict[str, Any]
Row = tuple[str, Question, dict[str, str]]

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"
_ANSWERS = ("decision", "code", "because", "restrictions")


def object_id(name: str) -> str:
    """Return the object id of what is called so."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def sections() -> Iterator[tuple[str, World, list[Row]]]:
    """Return every section with its world and rows."""
    for path in sorted((Path(__file__).parent / "datazone").glob("*.md")):
        head, *parts = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert re.search(r"^Source: ", head, re.MULTILINE), path
        for part in parts:
            blocks = [*_FENCE.findall(head), *_FENCE.findall(part)]
            world = world_of(blocks)
            rows = [row for kind, text in blocks if kind == "table" for row in rows_of(world, text)]
            assert rows, part
            yield f"{path.stem}: {part.partition(chr(10))[0]}", world, rows


def world_of(blocks: list[tuple[str, str]]) -> World:
    """Read worlds and policies."""
    raw: dict[str, Any] = {
        "users": [],
        "suspended": [],
        "groups": [],
        "memberships": [],
        "roles": [],
        "objects": {},
    }
    world = World(raw)
    for kind, text in blocks:
        if kind == "world":
            for line in filter(None, map(str.strip, text.splitlines())):
                say(raw, line)
        if kind == "json":
            spelled = re.sub(r"<(\w+)>", lambda found: spelled_id(found.group(1)), text)
            for name, policy in json.loads(spelled).items():
                bound = [f"urn:li:dataHubRole:{role}" for role in policy["roles"]]
                world.policies.append((name, {"name": name, "statements": policy["statements"], "roles": bound}))
    return world


def spelled_id(name: str) -> str:
    """Return the object id of a name; in capitals for a name in capitals."""
    return object_id(name.lower()).upper() if name.isupper() else object_id(name)


def say(raw: dict[str, Any], line: str) -> None:
    """Read one line of a world."""
    noun, name, *rest = line.split()
    facts = {key: value.split(",") for key, _, value in (word.partition("=") for word in rest if "=" in word)}
    if noun in ("object", "bare"):
        kind, _, short = name.partition(":")
        identifier = object_id(short) if noun == "object" else None
        project = object_id(facts["project"][0]) if "project" in facts else None
        raw["objects"][urn_of(name, is_bare=noun == "bare")] = {"type": kind, "id": identifier, "project": project}
        return
    holder = f"urn:li:{'corpuser' if noun == 'user' else 'corpGroup'}:{name}"
    raw[f"{noun}s"].append(holder)
    raw["suspended"].extend([holder] if "suspended" in rest else [])
    raw["memberships"].extend([holder, f"urn:li:corpGroup:{group}"] for group in facts.get("groups", ()))
    raw["roles"].extend([holder, f"urn:li:dataHubRole:{role}"] for role in facts.get("roles", ()))


def urn_of(name: str, *, is_bare: bool = False) -> str:
    """Return the URN of an object called so."""
    kind, _, short = name.partition(":")
    return _HIVE.format(short) if is_bare else f"urn:li:{kind}:{object_id(short)}"


def rows_of(world: World, table: str) -> Iterator[Row]:
    """Read the questions of a table and their answers."""
    header, *lines = [line for line in table.splitlines() if line.strip()]
    columns = [column.strip() for column in header.split("|")]
    for line in lines:
        cells = dict(zip(columns, (cell.strip() for cell in line.split("|")), strict=True))
        question: Question = {
            "actor": f"urn:li:corpuser:{cells['actor']}",
            "action": cells["action"],
            "branch": cells.get("branch") or None,
            "columns": cells["columns"].split(", ") if cells.get("columns") else None,
            "path": cells.get("path") or None,
            **target(world, cells["resource"]),
        }
        yield line, question, {name: cells[name] for name in _ANSWERS if name in cells}


def target(world: World, said: str) -> Question:
    """Read a resource: `dataset:orders`, `new dataset`, `new dataset in churn`."""
    if said.startswith("new "):
        kind, _, project = said.removeprefix("new ").partition(" in ")
        return {"urn": None, "type": kind, "project": object_id(project) if project else None}
    urn = urn_of(said)
    return {"urn": urn if urn in world.raw["objects"] else urn_of(said, is_bare=True)}


def shown(answer: Answer) -> dict[str, str]:
    """Return an answer as the cells of a table say it."""
    return {
        "decision": "ALLOW" if answer["allowed"] else "DENY",
        "code": answer["code"],
        "because": ",".join(sorted({policy for policy, _ in answer["because"]})) or "-",
        "restrictions": "; ".join(map(slice_text, answer["slices"] or ())) or "-",
    }


def slice_text(one: dict[str, Any]) -> str:
    """Return a slice as a cell says it."""
    role = one["role"].rpartition(":")[2]
    if one["paths"]:
        return f"{role}: in {', '.join(one['paths'])}"
    columns = "all" if one["columns"] is None else ", ".join(sorted(name.lower() for name in one["columns"]))
    return f"{role}: {' & '.join(sorted(one['rows'])) or '*'} -> {columns}"


# -- who answers ------------------------------------------------------------------------------------------------------


def by_oracle(world: World, questions: list[Question]) -> list[Answer | None]:
    return [oracle.authorize(world.raw, world.policies, question) for question in questions]


def by_engine(world: World, questions: list[Question]) -> list[Answer | None]:
    snapshot = world.snapshot()
    return [read(world.decide(snapshot, question)) for question in questions]


def by_bulk(world: World, questions: list[Question]) -> list[Answer | None]:
    """Answer what is about stored objects as they are, with what restrictions leave open decided one by one."""
    snapshot, postings = world.snapshot(), world.postings()
    found: list[Answer | None] = []
    for question in questions:
        is_able = question["urn"] and not (question["branch"] or question["columns"] or question["path"])
        covered = reach_index.compute_extent(
            postings, snapshot.compute_coverage(world.actor(question["actor"]), question["action"])
        )
        number = postings.number(question["urn"]) if is_able else None
        decided = read(world.decide(snapshot, question))
        if number is None:
            found.append(None)
            continue
        is_allowed = number in covered.allowed or (number in covered.needs_decision and decided["allowed"])
        found.append(decided | {"allowed": is_allowed})
    return found


def by_http(world: World, questions: list[Question]) -> list[Answer | None]:
    """Store the world and ask as a service that may check everybody's access."""
    client = _client(world)
    return [_asked(client, question) for question in questions]


def _client(world: World) -> Any:
    from rest_framework.test import APIClient

    from catalog.models import Entity
    from policies.authoring.services import policies, policy_drafts
    from policies.identity.services import access_tokens
    from policies.pdp import authorizer, snapshot_store
    from tests import stored
    from tests.worlds import World as Plain
    from tests.worlds import document

    snapshot_store.reset()
    people = Plain({**Plain().raw, **{key: value for key, value in world.raw.items() if key != "objects"}})
    caller = people.user("caller-of-the-tables")
    people.policy("may-check", document(type="PLATFORM", privileges=["CHECK_ACCESS"], actors={"users": [caller]}))
    bound = dict.fromkeys(role for _, policy in world.policies for role in policy["roles"])
    people.raw["roles"] += [[caller, role] for role in bound]
    stored.store(people)
    Entity.objects.bulk_create(
        Entity(urn=urn, type=one["type"], object_id=one["id"], project=one["project"])
        for urn, one in world.raw["objects"].items()
    )
    for name, policy in world.policies:
        draft = policy_drafts.PolicyInput("datazone", policy)
        policies.create(draft=draft, urn=f"{POLICY}{name}", by=authorizer.SYSTEM, channel=stored.DOOR)
    snapshot_store.reset()
    made = access_tokens.create(owner=caller, name="tables", by=authorizer.SYSTEM, channel=stored.DOOR)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.text}")
    return client


def _asked(client: Any, question: Question) -> Answer:
    named = ("urn",) if question["urn"] else ("type", "project")
    resource = {name: question[name] for name in (*named, "branch", "columns", "path") if question[name] is not None}
    sent = {"actor": question["actor"], "privilege": question["action"], "resource": resource}
    answer = client.post("/api/v1/authorize", sent, format="json")
    found = answer.json()
    if answer.status_code == 400 and [one["code"] for one in found["errors"]] == ["action.resource_mismatch"]:
        # What no statement can be about is not asked; the tables say that nothing allows it.
        return {"allowed": False, "code": "implicit_deny", "because": [], "slices": None}
    assert answer.status_code == 200, answer.content
    slices = found["restrictions"]
    return {
        "allowed": found["decision"] == "ALLOW",
        "code": found["code"],
        "because": [(one["policy"].removeprefix(POLICY), one["statement"]) for one in found["reasons"]],
        "slices": slices and [{"paths": (), **one} for one in slices],
    }


RUNNERS: dict[str, Callable[[World, list[Question]], list[Answer | None]]] = {
    "oracle": by_oracle,
    "engine": by_engine,
    "bulk": by_bulk,
    "http": by_http,
}


@pytest.mark.parametrize(
    ("answerer", "chapter"),
    [
        pytest.param(
            runner, section, id=f"{section[0]} [{runner}]", marks=[pytest.mark.django_db] if runner == "http" else []
        )
        for section in sections()
        for runner in RUNNERS
    ],
)
def test_the_tables_hold(answerer: str, chapter: tuple[str, World, list[Row]]) -> None:
    _, world, rows = chapter
    answers = RUNNERS[answerer](world, [question for _, question, _ in rows])
    for (line, _, expected), answer in zip(rows, answers, strict=True):
        if answer is not None:
            found = shown(answer)
            assert {name: found[name] for name in expected} == expected, line
