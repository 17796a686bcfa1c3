"""An export that cannot be read costs itself: the others are compared, and the run says that it is incomplete."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.job import BadInput
from tests.spark.drift_world import World, dataset, interpreted, role
from tests.spark.usage_world import find_usage

pytestmark = pytest.mark.spark

HEADER = "object_type,object,privilege,grantee_type,grantee"
HELD = "table,db.s.a,SELECT,role,reader"
#: Files of exports that cannot be judged, and the sentence about each.
BAD: dict[str, tuple[dict[str, str | bytes], str]] = {
    "half": (
        {"grants.csv.gz": gzip.compress(f"{HEADER}\n{HELD}\n".encode() * 99)[:-30]},
        "half/grants.csv.gz is damaged, or was not copied to its end",
    ),
    "cut": ({"grants.csv": f"{HEADER}\n{HELD}\ntable,db.s.b,SEL"}, "cut/grants.csv ends in the middle of line 3"),
    "layout": ({"grants.csv": "who,what\nann,a\n"}, "The files layout/* of the export layout "),
    "headers": (
        {"a.csv": f"{HEADER}\n{HELD}\n", "b.csv": f"object,{HEADER.replace(',object', '', 1)}\n{HELD}\n"},
        "has other columns in its first line than headers/",
    ),
    "empty": ({"grants.csv": ""}, "The files empty/* of the export empty"),
    "away": ({}, "The export away names files that are not there: away/*."),
    "strange": (
        {"grants.csv": f"{HEADER}\ntable,other.s.x,SELECT,role,boss\n"},
        "The export strange seems to be of another account: the catalog knows none of its roles, such as boss, and "
        "nothing that it opens, such as other.s.x.",
    ),
    "prefix": (
        {"grants.csv": f"{HEADER}\n{HELD}\n"},
        "The catalog knows no role of the export prefix under its role_prefix 'elsewhere_'",
    ),
}
#: Names in other alphabets, of which one is written from right to left, and one is two characters of UTF-16.
ALPHABETS = "Ärzte Читатель 閲覧者 قارئ 🦊"


def make_world(*bad: str) -> World:
    world = World()
    world.add_exports(*(add_export(world, name, files) for name, files in list_files(*bad)))
    return world


def list_files(*bad: str) -> list[tuple[str, dict[str, str | bytes]]]:
    circle = "role,a,MEMBER,role,b\nrole,b,MEMBER,role,c\nrole,c,MEMBER,role,a\n"
    odd = "\n".join(f"table,db.s.a,SELECT,role,{name}" for name in ALPHABETS.split())
    good = f"{HEADER}\n{HELD}\ntable,db.s.b,SELECT,role,reader\n{odd}\n{circle}"
    return [("good", {"grants.csv": good}), *((name, BAD[name][0]) for name in bad)]


def add_export(world: World, name: str, files: dict[str, str | bytes]) -> dict[str, Any]:
    role_prefix = "" if name == "strange" else f"{name}_"
    reader = world.entity(role(f"{role_prefix}reader"), ROLE_USER=[])
    world.entity(dataset(name, "db.s.a"), ACCESS_ROLE=[reader])
    world.entity(dataset(name, "db.s.b"))
    for file, content in files.items():
        text = content if isinstance(content, str) else content.decode("utf-8", "surrogateescape")
        world.files[f"{name}/{file}"] = text
    world.files[f"{name}.usage.csv"] = "used_at,user,role,object,privilege\n2025-01-01,ann,reader,db.s.a,SELECT\n"
    export = {"name": name, "platform": name, "form": "csv", "grants": [f"{name}/*"], "usage": [f"{name}.usage.csv"]}
    prefix = {"prefix": "elsewhere_"}.get(name, role_prefix)
    return export | ({"role_prefix": prefix} if prefix else {})


def check_incomplete(found: dict[str, Any]) -> None:
    problems = {row["export"]: row["problem"] for row in found["exports"]}
    assert problems.pop("good") is None
    assert {name: BAD[name][1] in problem for name, problem in problems.items()} == dict.fromkeys(BAD, True)
    assert {row["export"] for row in found["findings"]} == {"good"}
    assert {row["export"] for row in found["quarantine"]} == set(BAD)
    unjudged = found["summary"].unjudged
    assert [sentence.split()[0] for sentence in unjudged] == sorted(BAD)
    assert all(BAD[name][1] in sentence for name, sentence in zip(sorted(BAD), unjudged, strict=True))


def test_the_others_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    with interpreted(spark):
        found = make_world(*BAD).checked(spark, tmp_path)
    check_incomplete(found)
    sentences = " ".join(row["sentence"] for row in found["findings"])
    assert all(f"{name} has READ on db.s.a" in sentences for name in ALPHABETS.split())
    circle, age = found["summary"].notes
    assert "b has a (good/grants.csv:9), c has b (good/grants.csv:10), a has c (good/grants.csv:11)." in circle
    assert age.startswith("good: files of ")


@pytest.mark.drawn(2)
def test_the_history_of_the_others_is_read(spark: SparkSession, tmp_path: Path) -> None:
    world = make_world(*BAD)
    # Whether the catalog knows an export is asked by the role mapping check alone.
    with interpreted(spark):
        found = find_usage(spark, world, tmp_path, days=1)
    problems = {row["export"]: row["problem"] for row in found["exports"]}
    assert {name for name, problem in problems.items() if problem} == set(BAD) - {"strange", "prefix"}
    assert {row["export"] for row in found["grants"]} >= {"good"}
    assert len(found["summary"].unjudged) == len(BAD) - 2


def test_nothing_that_can_be_read_is_an_error_that_names_everything(spark: SparkSession, tmp_path: Path) -> None:
    world = World()
    names = ("half", "layout", "away")
    world.add_exports(*(add_export(world, name, BAD[name][0]) for name in names))
    with pytest.raises(BadInput) as raised, interpreted(spark):
        world.checked(spark, tmp_path)
    assert all(BAD[name][1] in str(raised.value) for name in names)
