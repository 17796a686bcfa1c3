"""The decision tables of CDAP, each run by the oracle, the engine, and over HTTP.

Chapters are Markdown in `cdap/`. A row says what somebody was granted (`PRIVILEGE entity`, with commas), an operation,
and what it lacks. Entities are short names: `stream:ns1.clicks`.
"""

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from policies.engine import families
from policies.engine.evaluate import decide_requirement
from policies.engine.families import cdap, cdap_requests
from policies.engine.families.cdap_requests import OperationRequest
from policies.engine.model import Actor
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from tests import oracle_cdap as oracle
from tests.cdap.conftest import _fresh_snapshot as _fresh_snapshot
from tests.cdap.conftest import client_of as client_of
from tests.cdap.conftest import instance as instance
from tests.cdap.conftest import register, urn

Row = dict[str, str]
Pairs = list[tuple[str, str]]

_TABLE = re.compile(r"^```table\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections() -> Iterator[tuple[str, list[Row]]]:
    """Return every section with its rows."""
    for path in sorted((Path(__file__).parent / "cdap").glob("*.md")):
        head, *parts = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert re.search(r"^Source: ", head, re.MULTILINE), path
        for part in parts:
            rows = [row for text in _TABLE.findall(part) for row in rows_of(text)]
            assert rows, part
            yield f"{path.stem}: {part.partition(chr(10))[0]}", rows


def rows_of(text: str) -> list[Row]:
    """Read one table."""
    header, *lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


def pairs(cell: str) -> Pairs:
    """Return (privilege, entity) of a cell."""
    return [] if cell == "-" else [(one.split()[0], one.split()[1]) for one in cell.split(", ")]


SECTIONS = list(sections())


def by_oracle(rows: Sequence[Row], _request: pytest.FixtureRequest) -> list[Pairs]:
    """Ask the naive judge."""
    found = []
    for row in rows:
        grants = [("jo", entity, privilege) for privilege, entity in pairs(row["held"])]
        artifact = None if row["artifact"] == "-" else row["artifact"]
        found.append(oracle.missing(grants, ["jo"], row["operation"], row["entity"], artifact))
    return found


def by_engine(rows: Sequence[Row], _request: pytest.FixtureRequest) -> list[Pairs]:
    """Compile the grants to statements and ask the pure core."""
    snapshot = Snapshot.build(1, families.implicit_policies())
    found = []
    for row in rows:
        artifact = None if row["artifact"] == "-" else urn(row["artifact"])
        read = cdap_requests.resolve(OperationRequest(row["operation"], urn(row["entity"]), artifact=artifact))
        grants = [
            cdap.build_grant(urn("jo"), cdap.expand([privilege]), urn(entity), urn(entity))
            for privilege, entity in pairs(row["held"])
        ]
        named = {**read.relatives, "self": (urn(row["entity"]),)}
        relatives = {name: [Resource(one, one.split(":")[2], {}) for one in urns] for name, urns in named.items()}
        decision = decide_requirement(snapshot, Actor(urn("jo")), read.requirement, relatives, (), grants)
        found.append([(one.privilege, one.entity or "") for one in decision.missing])
        assert decision.is_allowed == (not decision.missing)
    return found


def by_http(rows: Sequence[Row], request: pytest.FixtureRequest) -> list[Pairs]:
    """Store the grants, a user for each row, and ask as a service that may check everybody's access."""
    request.getfixturevalue("_fresh_snapshot")
    client = request.getfixturevalue("client_of")("checker", "CHECK_ACCESS")
    from django.utils import timezone

    from catalog.access.grant_source import Grant, insert_grants
    from policies.identity.services import users
    from policies.pdp import authorizer

    named = {entity for row in rows for _, entity in [*pairs(row["held"]), *pairs(row["missing"])]}
    named |= {row[column] for row in rows for column in ("entity", "artifact")} - {"-"}
    register(*sorted(named - {"instance:cdap"}))
    questions = []
    for number, row in enumerate(rows):
        users.create(username=f"jo{number}", by=authorizer.SYSTEM, channel="test")
        held = [
            Grant(urn(f"jo{number}"), urn(entity), cdap.expand([privilege])) for privilege, entity in pairs(row["held"])
        ]
        insert_grants(grants=held, by=authorizer.SYSTEM.urn, at=timezone.now())
        related = {} if row["artifact"] == "-" else {"artifact": urn(row["artifact"])}
        question = {"actor": urn(f"jo{number}"), "operation": row["operation"], "related": related}
        questions.append({**question, "resource": {"urn": urn(row["entity"])}})
    answer = client.post("/api/v1/authorize/batch", {"questions": questions}, format="json")
    assert answer.status_code == 200, answer.content
    decisions = answer.json()["decisions"]
    assert all((one["decision"] == "ALLOW") == (not one["missing"]) for one in decisions)
    return [[(one["privilege"], one["entity"]) for one in decision["missing"]] for decision in decisions]


RUNNERS: dict[str, Callable[[Sequence[Row], pytest.FixtureRequest], list[Pairs]]] = {
    "oracle": by_oracle,
    "engine": by_engine,
    "http": by_http,
}


def cases() -> Iterator[Any]:
    """Return what each runner answers in a go: a section, or a chapter where setting up is what takes long."""
    for chapter, some in itertools.groupby(SECTIONS, key=lambda section: section[0].partition(":")[0]):
        parts = list(some)
        yield pytest.param(
            "http", [row for _, rows in parts for row in rows], id=f"{chapter} [http]", marks=pytest.mark.django_db
        )
        for name, rows in parts:
            yield pytest.param("oracle", rows, id=f"{name} [oracle]")
            yield pytest.param("engine", rows, id=f"{name} [engine]")


@pytest.mark.parametrize(("runner", "rows"), list(cases()))
def test_answers_are_those_of_the_table(runner: str, rows: list[Row], request: pytest.FixtureRequest):
    wrong = []
    for row, found in zip(rows, RUNNERS[runner](rows, request), strict=True):
        lacking = sorted((privilege, urn(entity)) for privilege, entity in found)
        expected = sorted((privilege, urn(entity)) for privilege, entity in pairs(row["missing"]))
        assert (row["decision"] == "ALLOW") == (not expected), row
        if lacking != expected:
            wrong.append(f"{row}\n    but {runner} says {lacking}")
    assert not wrong, "\n".join(wrong)
