"""Deny policies take away what a naive judge says, in exports made at random: with and without a hierarchy."""

import json
import re
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check import declared, readers
from catalog.reports.kinds.role_mapping_check.fact_survey import survey_facts
from catalog.reports.kinds.role_mapping_check.reach import find_reach
from catalog.reports.kinds.role_mapping_check.run_inputs import compute_in_stages, read_exports
from catalog.reports.kinds.role_mapping_check.stages import Stages
from catalog.reports.spark.job import Job
from catalog.reports.spark.job_threads import JobThreads
from catalog.reports.summary import Summary
from tests.spark.drift_world import World, dataset, interpreted
from tests.spark.oracle_denials import judge

pytestmark = pytest.mark.spark

PEOPLE = [f"user:u{number}" for number in range(6)]
ACCOUNTS = ["serviceAccount:s0@p.iam.gserviceaccount.com"]
#: The members of the last two are those of the catalog alone.
GROUPS = [f"group:g{number}" for number in range(8)]
LEVELS = {1: "roles/bigquery.dataViewer", 2: "roles/bigquery.dataEditor", 3: "roles/bigquery.dataOwner"}
#: What rules deny and what they leave out, and the levels of which that is everything.
PERMISSIONS: list[tuple[list[str], list[str], list[int]]] = [
    (["tables.getData"], [], [1]),
    (["tables.getData"], [], [1]),
    (["*.getData", "datasets.delete"], [], [1]),
    (["tables.*"], [], [1, 2]),
    (["tables.*"], ["tables.updateData"], [1]),
    (["tables.*"], ["tables.getData"], []),
    (["*.*"], [], [1, 2, 3]),
    (["datasets.delete"], [], []),
]
#: Of the export with a hierarchy; the other one has projects alone.
FOLDERS = {
    "folders/11": ["organizations/1"],
    "folders/12": ["folders/11", "organizations/1"],
    "folders/13": ["organizations/1"],
}


def drawn(dice: Random, *, has_hierarchy: bool) -> dict[str, Any]:
    """Return a world for the judge: some projects under rules of all kinds."""

    def some(of: list[str], most: int) -> list[str]:
        return dice.sample(of, min(len(of), dice.randint(0, most)))

    projects = [f"projects/p-{number}" for number in range(16)]
    places = {name: [name] for name in projects}
    if has_hierarchy:
        for name in projects[3:]:
            folder = dice.choice([*FOLDERS])
            places[name] += [folder, *FOLDERS[folder]]
    # Groups are in groups with greater numbers.
    inside = {
        name: some(PEOPLE, 2) + (some(GROUPS[:index], 1) if index < 6 else []) for index, name in enumerate(GROUPS)
    }
    named = [*PEOPLE, *GROUPS, *ACCOUNTS]
    above = [*FOLDERS, "organizations/1"] if has_hierarchy else []
    rules = []
    for place in [*projects[1:], *projects[1:], *dice.sample(above, len(above) // 2)]:
        denied, left_out, takes = dice.choice(PERMISSIONS)
        rules.append(
            {
                "place": place,
                "denied": dice.choice([["everybody"], ["everybody"], dice.sample(named, 1), dice.sample(GROUPS, 2)]),
                "exempt": dice.choice([[], dice.sample(PEOPLE, 1), dice.sample(GROUPS, 1), dice.sample(named, 2)]),
                "permissions": [denied, left_out],
                "takes": takes,
            }
        )
    grants = {
        (dice.choice([*projects, *projects, *above]), holder, dice.choice([1, 1, 2, 3]))
        for holder in [*named, "allUsers"]
        for _ in range(14)
    }
    return {"places": places, "people": PEOPLE + ACCOUNTS, "inside": inside, "rules": rules, "grants": sorted(grants)}


#: project | denied | exempt
TABLE_RULES = """
1 | everybody | -
2 | everybody | user:u0
3 | everybody | group:g0
4 | everybody | user:u0
4 | everybody | user:u1
5 | everybody | user:u0
5 | user:u0   | -
6 | group:g2  | -
7 | group:g2  | user:u0
8 | group:g0  | group:g1
9 | everybody | group:g0
9 | everybody | user:u0
"""
#: Who still reads in each project. In the fourth, each rule denies whom the other one exempts.
TABLE_LEFT = """
0 u0 u1 u2 g0 g1 g2 g3 all
1
2 u0 g0 g1 g2 all
3 u0 u1 g0 g1 g2 all
4
5
6 u2 g3 all
7 u0 u2 g0 g1 g2 g3 all
8 u0 u1 u2 g0 g1 g2 g3 all
9 u0 g0 g1 g2 all
"""
#: Projects that deny policies name by their identifiers, without a hierarchy.
TABLE: dict[str, Any] = {
    "places": {f"projects/p-{number}": [f"projects/p-{number}"] for number in range(10)},
    "people": PEOPLE + ACCOUNTS,
    "inside": {"group:g0": ["user:u0", "user:u1"], "group:g1": ["group:g0"], "group:g2": ["group:g1"]},
    "rules": [
        {
            "place": f"projects/p-{number}",
            "denied": [denied],
            "exempt": [] if exempt == "-" else [exempt],
            "permissions": (["tables.getData"], []),
            "takes": [1],
        }
        for number, denied, exempt in (re.split(r" *\| *", line) for line in TABLE_RULES.strip().splitlines())
    ],
    "grants": [
        (f"projects/p-{number}", holder, 1)
        for number in range(10)
        for holder in (*PEOPLE[:3], "group:g0", "group:g1", "group:g2", "group:g3", "allUsers")
    ],
}


def written(worlds: dict[str, dict[str, Any]], dice: Random) -> World:
    """Return worlds as a catalog and an export each."""
    made = World()
    exports = []
    for name, world in worlds.items():
        in_catalog = {group: inside for group, inside in world["inside"].items() if group in GROUPS[6:]}
        for person in PEOPLE:
            made.person(
                f"{name}-{short(person)}", *(f"{name}-{short(one)}" for one in in_catalog if person in in_catalog[one])
            )
        rows = ["object_type|object|privilege|grantee_type|grantee"]
        for group in sorted(set(world["inside"]) - set(in_catalog)):
            for one in world["inside"][group]:
                # Groups in groups are written in both ways.
                kind = "user" if one.startswith("user:") else dice.choice(["group", "role"])
                rows.append(f"role|{name}-{short(group)}@x.example|MEMBER|{kind}|{name}-{short(one)}@x.example")
        made.csv(f"{name}/members.csv", "\n".join(rows))
        for project in world["places"]:
            made.entity(dataset("bigquery", f"{name}.{short(project)}.d.t"))
        made.files |= {
            f"{name}/{file}": "".join(f"{json.dumps(line)}\n" for line in lines)
            for file, lines in (
                ("iam.jsonl", [binding(name, *grant, is_inner=dice.random() < 0.5) for grant in world["grants"]]),
                ("denies.jsonl", list_policies(name, world["rules"], dice)),
                ("hierarchy.jsonl", list_nodes(world["places"])),
            )
        }
        has_hierarchy = any(len(places) > 1 for places in world["places"].values())
        export = {
            "name": name,
            "platform": "bigquery",
            "instance": name,
            "form": "bigquery",
            "grants": [f"{name}/iam.jsonl"],
            "members": [f"{name}/members.csv"],
            "denies": [f"{name}/denies.jsonl"],
            "email_domain": "x.example",
        }
        has_hierarchy = any(len(places) > 1 for places in world["places"].values())
        exports.append(export | ({"hierarchy": [f"{name}/hierarchy.jsonl"]} if has_hierarchy else {}))
    made.files["exports.json"] = json.dumps({"exports": exports})
    return made


def short(name: str) -> str:
    """Return a name without its kind."""
    return name.replace("/", ":").partition(":")[2]


def mailed(export: str, name: str) -> str:
    """Return the name of a person or group in an export."""
    return short(name) if "@" in name else f"{export}-{short(name)}@x.example"


def binding(export: str, place: str, holder: str, level: int, *, is_inner: bool) -> dict[str, Any]:
    """Return the policy of a place with one grant; one of a project may be on the dataset that it has."""
    member = holder if holder == "allUsers" else f"{holder.partition(':')[0]}:{mailed(export, holder)}"
    is_dataset = is_inner and place.startswith("projects/")
    resource = (
        f"//bigquery.googleapis.com/{place}/datasets/d"
        if is_dataset
        else f"//cloudresourcemanager.googleapis.com/{place}"
    )
    return {"resource": resource, "policy": {"bindings": [{"role": LEVELS[level], "members": [member]}]}}


def list_policies(export: str, rules: list[dict[str, Any]], dice: Random) -> list[dict[str, Any]]:
    """Return deny policies: rules of one place are in one policy or in several."""
    policies: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for rule in rules:
        policies.setdefault((rule["place"], dice.randrange(2)), []).append(rule)
    point = "policies/cloudresourcemanager.googleapis.com"
    return [
        {
            "name": f"{point}%2F{place.replace('/', '%2F')}/denypolicies/n{number}",
            "rules": [{"denyRule": deny_rule(export, rule)} for rule in its_rules],
        }
        for (place, number), its_rules in policies.items()
    ]


def deny_rule(export: str, rule: dict[str, Any]) -> dict[str, Any]:
    def principal(name: str) -> str:
        kinds = {"user": "principal://goog/subject/", "group": "principalSet://goog/group/"}
        prefix = kinds.get(name.partition(":")[0], "principal://iam.googleapis.com/projects/-/serviceAccounts/")
        return "principalSet://goog/public:all" if name == "everybody" else f"{prefix}{mailed(export, name)}"

    denied, left_out = ([f"bigquery.googleapis.com/{name}" for name in names] for names in rule["permissions"])
    return {
        "deniedPrincipals": [*map(principal, rule["denied"])],
        "exceptionPrincipals": [*map(principal, rule["exempt"])],
        "deniedPermissions": denied,
        "exceptionPermissions": left_out,
    }


def list_nodes(places: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the lines of a hierarchy."""
    folders = [{"name": name, "parent": above[0]} for name, above in FOLDERS.items()]
    projects = [
        {"projectId": short(project), "parent": dict(zip(("type", "id"), above[1].split("s/"), strict=True))}
        for project, above in places.items()
        if len(above) > 1
    ]
    return [*folders, *projects]


def list_left(spark: SparkSession, folder: Path, made: World) -> dict[str, set[tuple[str, str, int]]]:
    """Return the access that is left, as the judge says it, of each export."""
    made.write(folder / "input")
    job = Job(spark, (folder / "input").as_uri(), (folder / "output").as_uri(), {}, {}, is_short=True)
    left: dict[str, set[tuple[str, str, int]]] = {}

    def compute(job: Job, stages: Stages, threads: JobThreads) -> Summary:
        where, exports = read_exports(job)
        parts = [stages.start("facts", partial(readers.read_facts, job.spark, where, export)) for export in exports]
        facts = stages.read_union("facts", parts)
        access = declared.read(job.read_frame, exports, tags=[], stage=stages.store, threads=threads)
        reach = find_reach(facts, survey_facts(facts), access, exports, stages.store, None)
        for row in reach.join(access.datasets.select("number", "key"), "number").collect():
            name = row["grantee"].replace(f"{row['export']}-", "").removesuffix("@x.example")
            project = f"projects/{row['key'].partition('.')[0]}"
            left.setdefault(row["export"], set()).add((project, name, row["level"]))
        return Summary(())

    with interpreted(spark):
        compute_in_stages(job, compute)
    return left


@pytest.mark.drawn(2)
def test_what_deny_policies_leave(spark: SparkSession, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    dice = Random(f"{pytestconfig.option.hypothesis_seed}")
    worlds = {"table": TABLE}
    worlds |= {name: drawn(dice, has_hierarchy=name == "wood") for name in ("wood", "bare")}
    left = list_left(spark, tmp_path, written(worlds, dice))
    in_words = {f"projects/p-{line.split()[0]}": set(line.split()[1:]) for line in TABLE_LEFT.strip().splitlines()}
    for name, world in worlds.items():
        assert sorted(left[name] ^ judge(world)) == [], name
    assert in_words == {
        project: {short(name) or "all" for where, name, _ in left["table"] if where == project} for project in in_words
    }
