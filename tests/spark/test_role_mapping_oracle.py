"""The check of role mappings finds what a naive judge finds, in worlds made at random."""

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import PII, World, dataset, group, interpreted, role, user
from tests.spark.oracle_mapping import judge, roll_up

pytestmark = pytest.mark.spark

LEVELS = {1: "SELECT", 2: "INSERT", 3: "OWNERSHIP"}
EXPORT = {
    "name": "snow",
    "platform": "snowflake",
    "form": "snowflake",
    "role_prefix": "w_",
    "grants": ["roles.csv"],
    "members": ["users.csv"],
    "ignored_roles": ["R0"],
}


def drawn(dice: Random) -> dict[str, Any]:
    """Return a world in which names collide: few datasets, roles and people, many relations."""
    datasets = {f"db{number % 3}.s.t{number}": dice.random() < 0.3 for number in range(28)}
    closed = {f"db0.{dice.choice('xyz')}.t{number}": True for number in range(6)}
    users = {f"u{number}": dice.random() < 0.8 for number in range(16)}
    groups = [f"g{number}" for number in range(6)]
    roles = [f"r{number}" for number in range(32)]
    levels = [1, 1, 2, 3, None]

    def some(of: list[str], most: int) -> list[str]:
        return dice.sample(of, dice.randint(0, most))

    def pairs(count: int, *of: list[Any]) -> list[Any]:
        return sorted({tuple(dice.choice(one) for one in of) for _ in range(count)})

    declared = {
        name: {
            "level": dice.choice(levels),
            "users": some(list(users), 3),
            "groups": some(groups, 1),
            "opens": some(list(datasets), 4),
        }
        for name in roles[1:24]
    }
    found: dict[str, Any] = {
        "grants": set(pairs(90, roles[:28], list(datasets), [1, 2, 3])),
        "inherits": pairs(20, roles[:28], roles[:28]),
        "members": set(pairs(60, roles[:28], list(users))),
    }
    for number in range(12):
        old, new, other = f"o{number}", f"n{number}", f"n{dice.randrange(12)}"
        opened = dice.sample(list(datasets), dice.choice([2, 3, 4, 10, 12, 20]))
        level, holders = dice.choice(levels), some(list(users), 3)
        declared[old] = {"level": level, "users": holders, "groups": [], "opens": opened}
        # A grant or two may have gone, be another, or stay under the old name; another role may have the same.
        moved = opened[dice.choice([0, 0, 0, 1, 2]) :]
        found["grants"] |= {(new, one, dice.choice([level or 1] * 20 + [1, 2, 3])) for one in moved}
        found["grants"] |= {(new, one, 1) for one in some(list(datasets), dice.choice([0, 2]))}
        found["grants"] |= {
            (dice.choice([old, other]), one, level or 2) for one in opened[: dice.choice([0, 0, 1, 20])]
        }
        found["members"] |= {(dice.choice([new, new, old]), one) for one in holders + some(list(users), 1)}
        if dice.random() < 0.3:
            found["inherits"].append(tuple(dice.sample([old, new, dice.choice(roles[:28])], 2)))
    return {
        "datasets": datasets | closed,
        "users": users,
        "in_groups": pairs(16, list(users), groups),
        "declared": declared,
        "grants": sorted(found["grants"]),
        "inherits": sorted({pair for pair in found["inherits"] if pair[0] != pair[1]}),
        "members": sorted(found["members"]),
        "direct": pairs(14, list(users)[:6], list(datasets), [1]),
        "exists": some(roles, 6),
        "ignored": ["r0"],
        "ended": pairs(40, roles[:28], list(datasets), [1, 2, 3]),
    }


def written(drawn: dict[str, Any]) -> World:
    """Return the world as catalog and export."""
    made = World()
    for name, may_act in drawn["users"].items():
        made.person(name, *(one for who, one in drawn["in_groups"] if who == name), may_act=may_act)
    for name, says in drawn["declared"].items():
        kind = {1: ["READ"], 2: ["WRITE"], 3: ["ADMIN"], None: ["SPECIAL"]}[says["level"]]
        holders = {"ROLE_USER": [*map(user, says["users"])], "ROLE_GROUP": [*map(group, says["groups"])]}
        made.entity(role(f"w_{name}"), ROLE_TYPE=kind, **holders)
    for name, is_sensitive in drawn["datasets"].items():
        opening = [role(f"w_{one}") for one, says in drawn["declared"].items() if name in says["opens"]]
        made.entity(dataset("snowflake", name), ACCESS_ROLE=opening, TAG=[PII] if is_sensitive else [])
    rows = ["PRIVILEGE|GRANTED_ON|NAME|TABLE_CATALOG|TABLE_SCHEMA|GRANTED_TO|GRANTEE_NAME|DELETED_ON"]
    for to, grants, end in (("ROLE", "grants", "-"), ("USER", "direct", "-"), ("ROLE", "ended", "2026")):
        for grantee, name, level in drawn[grants]:
            catalog, schema, table = name.upper().split(".")
            privilege = LEVELS[level]
            rows.append(f"{privilege}|TABLE|{table}|{catalog}|{schema}|{to}|{grantee.upper()}|{end}")
    rows += [f"USAGE|ROLE|{given.upper()}|-|-|ROLE|{one.upper()}|-" for one, given in drawn["inherits"]]
    rows += [f"OWNERSHIP|ROLE|{one.upper()}|-|-|ROLE|R0|-" for one in drawn["exists"]]
    made.csv("roles.csv", "\n".join(rows))
    made.csv("users.csv", "\n".join(["ROLE|GRANTEE_NAME", *(f"{a.upper()}|{b.upper()}" for a, b in drawn["members"])]))
    made.files["exports.json"] = json.dumps({"exports": [EXPORT]})
    return made


def said(row: dict[str, Any]) -> tuple[str, str, str, str, str, str, int]:
    """Return a finding as the judge says it, and how many it stands for."""
    through = re.search(r" (?:through|is called) (\w+)", row["sentence"])
    subject = row["sentence"].split()[0].lower() if row["type"] == "EXTRA_GRANT" else (row["role"] or "")
    name = re.sub(r".*dataPlatform:\w+,|,PROD\)", "", row["entity"] or "")
    who = (row["actor"] or "").removeprefix("urn:li:corpuser:")
    via = through.group(1).lower() if through else ""
    of = re.sub("^(urn:li:role:)?(w_)?", "", subject)
    return row["type"], row["severity"], of, name, who, via, row["members"] or 0


@pytest.mark.drawn(2)
@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.deep)])
def test_spark_finds_what_the_judge_finds(
    spark: SparkSession, tmp_path: Path, pytestconfig: pytest.Config, number: int
) -> None:
    # What a world costs is the work of planning, whatever its size.
    world = drawn(Random(f"{pytestconfig.option.hypothesis_seed} {number}"))
    with interpreted(spark):
        found = written(world).checked(spark, tmp_path, is_short=number % 2 == 0)["findings"]
    differences = judge(world)
    assert sorted(map(said, found)) == sorted(roll_up(differences))
    assert sum(row["members"] or 1 for row in found) == len(differences)
    for row in found:
        datasets = (row["datasets"] or "").split("\n") if row["datasets"] else []
        assert len(set(datasets)) == len(datasets)
        # What comes through a role names all that it opens, as far as that are not too many.
        opened = re.search(r"opens ([\d,]+) dataset", row["sentence"])
        assert row["type"] != "EXTRA_GRANT" or not opened or len(datasets) == int(opened.group(1))
        assert row["evidence"]
        assert (row["fingerprint"] is None) == (row["members"] is None)
