"""Warehouse usage finds what a naive judge finds, in worlds made at random."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import World, dataset, interpreted, role, user
from tests.spark.oracle_usage import judge, tables_of
from tests.spark.usage_world import find_usage, list_contradictions

pytestmark = pytest.mark.spark

LEVELS = {1: "SELECT", 2: "INSERT"}
START = datetime(2025, 1, 1, tzinfo=UTC)


def draw_world(dice: Random) -> dict[str, Any]:
    """Return a world in which names collide: few tables, roles and people, many relations."""
    tables = [f"s{number % 4}.t{number}" for number in range(16)]
    people, roles = [f"u{number}" for number in range(10)], [f"r{number}" for number in range(12)]
    objects = [*tables, "s0", "s1", "s2", "s3"]

    def draw_pairs(count: int, *of: list[Any]) -> set[Any]:
        return {tuple(dice.choice(one) for one in of) for _ in range(count)}

    grants = {(name, where): level for name, where, level in draw_pairs(40, roles, objects, [1, 1, 2])}
    uses = [
        (
            dice.randint(0, 120),
            dice.choice(people),
            dice.choice(["", "", *roles]),
            dice.choice(tables),
            dice.choice([1, 1, 2]),
        )
        for _ in range(40)
    ]
    return {
        "days": 60,
        "tables": tables,
        "people": people,
        "grants": {(name, where, level) for (name, where), level in grants.items()},
        "direct": draw_pairs(4, people, tables),
        "members": draw_pairs(14, roles, people),
        "inherits": {pair for pair in draw_pairs(8, roles, roles) if pair[0] != pair[1]},
        "declared": draw_pairs(20, roles, people),
        "opens": draw_pairs(16, roles, tables[:12]),
        # The first and the last day make the history long enough.
        "uses": [*uses, (0, "u0", "", tables[0], 1), (120, "u0", "", tables[0], 1)],
    }


def write_world(drawn: dict[str, Any]) -> World:
    world = World()
    for name in drawn["people"]:
        world.person(name)
    for name in sorted({name for name, _ in drawn["declared"] | drawn["opens"]}):
        world.entity(role(name), ROLE_USER=[user(who) for one, who in drawn["declared"] if one == name])
    for table in drawn["tables"]:
        opening = [role(name) for name, one in drawn["opens"] if one == table]
        world.entity(dataset("snowflake", f"db.{table}"), ACCESS_ROLE=opening)
    rows = ["object_type|object|privilege|grantee_type|grantee"]
    rows += [
        f"{'table' if '.' in where else 'schema'}|db.{where}|{LEVELS[level]}|role|{name}"
        for name, where, level in sorted(drawn["grants"])
    ]
    rows += [f"table|db.{where}|SELECT|user|{name}" for name, where in sorted(drawn["direct"])]
    rows += [f"role|{name}|MEMBER|user|{who}" for name, who in sorted(drawn["members"])]
    rows += [f"role|{given}|MEMBER|role|{name}" for name, given in sorted(drawn["inherits"])]
    world.csv("grants.csv", "\n".join(rows))
    lines = [
        f"{START + timedelta(days=day):%Y-%m-%d},{who},{named},db.{table},{LEVELS[level]}"
        for day, who, named, table, level in drawn["uses"]
    ]
    world.files["usage.csv"] = "\n".join(["used_at,user,role,object,privilege", *lines]) + "\n"
    described = {"name": "w", "platform": "snowflake", "form": "csv", "grants": ["grants.csv"], "usage": ["usage.csv"]}
    world.files["exports.json"] = json.dumps({"exports": [described]})
    return world


def find_after(drawn: dict[str, Any], found: dict[str, Any]) -> dict[tuple[str, str], int]:
    """Return the level with which roles reach tables once every proposal is carried out."""
    held = {(name, where): level for name, where, level in drawn["grants"]}
    actions = [(row["action"], (row["grantee"], row["object"].removeprefix("db.")), row) for row in found["proposals"]]
    for action, grant, _ in actions:
        if action == "REVOKE":
            del held[grant]
        elif action == "NARROW":
            held[grant] = 1
    for action, grant, row in actions:
        if action == "GRANT":
            assert held.get(grant, 0) < 2
            held[grant] = 2 if "INSERT" in row["repair"] else 1
    levels: dict[tuple[str, str], int] = {}
    for (name, where), level in held.items():
        for table in tables_of(drawn, where):
            levels[name, table] = max(level, levels.get((name, table), 0))
    return levels


@pytest.mark.drawn(2)
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_spark_finds_what_the_judge_finds(
    spark: SparkSession, tmp_path: Path, pytestconfig: pytest.Config, number: int
) -> None:
    drawn = draw_world(Random(f"{pytestconfig.option.hypothesis_seed} {number}"))
    with interpreted(spark):
        found = find_usage(spark, write_world(drawn), tmp_path, days=drawn["days"], is_short=number % 2 == 1)
    assert list_contradictions(found) == []
    expected = judge(drawn)
    unused = {
        (row["grantee"], row["object"].removeprefix("db.")) for row in found["grants"] if row["state"] == "UNUSED"
    }
    assert unused == expected["grants"] | expected["direct"]
    members = {
        (row["held"], row["person"].rpartition(":")[2]) for row in found["memberships"] if row["state"] == "UNUSED"
    }
    assert members == expected["members"]
    undeclared: dict[str, int] = {}
    for row in found["findings"]:
        if row["type"] == "UNDECLARED_USE":
            who = row["actor"].rpartition(":")[2]
            undeclared[who] = undeclared.get(who, 0) + (row["members"] or 1)
    assert undeclared == {
        who: sum(1 for one, _ in expected["undeclared"] if one == who) for who, _ in expected["undeclared"]
    }
    after = find_after(drawn, found)
    assert after.keys() == expected["after"].keys()
    assert {pair for pair, level in after.items() if level < expected["after"][pair]} == set()
    losses = {(row["grantee"], row["person"].rpartition(":")[2], row["tables"]) for row in found["losses"]}
    assert losses == expected["losses"]
