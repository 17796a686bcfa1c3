"""Role mapping: a million datasets, twenty thousand roles and five million grants against what the catalog says.

A role opens datasets in stretches, as teams do, and has a second privilege on some. One grant in five hundred is lost,
and one in five hundred too much. The run is a program of its own, from its start to its results on disk.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import django
import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from bench.processes import measure_work
from bench.tables import Table
from bench.worlds import dice_of
from catalog.reports.snapshot.reader import SCHEMA_VERSION

#: datasets, roles, grants, users
FULL = (1_000_000, 20_000, 5_000_000, 20_000)
QUICK = (10_000, 200, 50_000, 500)

_BATCH = 100_000
_ODDS = 500
_EXPORT = {
    "name": "warehouse",
    "platform": "snowflake",
    "form": "snowflake",
    "role_prefix": "wh_",
    "grants": ["grants_to_roles.csv"],
    "members": ["grants_to_users.csv"],
}


def run(*, is_quick: bool) -> list[Table]:
    """Measure one check."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
    django.setup()
    datasets, roles, grants, users = QUICK if is_quick else FULL
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = _write(folder / "input", datasets, roles, grants, users)
        job = [sys.executable, "-m", "catalog.reports.kinds.role_mapping_check.job"]
        urls = ["--input", (folder / "input").as_uri(), "--output", (folder / "output").as_uri()]
        preparation = importlib.import_module("catalog.reports.run.preparation")  # needs Django, too
        preparation.make_archive()
        environment = {**os.environ, "SPARK_CLASSES_DIR": settings.SPARK_CLASSES_DIR, "VAR_DIR": place}
        start = time.perf_counter()
        with measure_work() as work:
            subprocess.run([*job, *urls], check=True, env=environment, stdout=subprocess.DEVNULL)
            spent = time.perf_counter() - start
        found = pq.read_table(folder / "output" / "findings").num_rows
    title = f"{datasets:,} datasets x {roles:,} roles x {rows:,} rows of grants"
    table = Table(title, ("what", "figure", "unit"))
    table.rows += [
        ("from start to results", spent, "s"),
        ("processor time of all its processes", work.seconds, "s"),
        ("findings", found, ""),
    ]
    return [table]


def _write(folder: Path, datasets: int, roles: int, grants: int, users: int) -> int:
    """Write snapshot and exports, and return how many rows of grants there are."""
    (folder / "exports").mkdir(parents=True)
    tables = importlib.import_module("catalog.reports.snapshot.schema")  # needs Django, which is there by now
    schemas = {table.name: table.schema for table in tables.TABLES}
    last = datasets + roles
    names = {
        number: f"db_{number // 50_000}.schema_{number // 500}.table_{number}" for number in range(1, datasets + 1)
    }
    urns = (f"urn:li:dataset:(urn:li:dataPlatform:snowflake,{name},PROD)" for name in names.values())
    things = [(number, urn, "dataset", None, None) for number, urn in enumerate(urns, start=1)]
    things += [
        (number, f"urn:li:role:wh_{number - datasets}", "role", None, None) for number in range(datasets + 1, last + 1)
    ]
    people = [f"urn:li:corpuser:u{number}" for number in range(users)]
    _table(folder / "entities", schemas["entities"], things)
    _table(folder / "facets", schemas["facets"], _facets(datasets, roles, grants, people))
    _table(folder / "users", schemas["users"], ((urn, True) for urn in people))
    for name in ("ancestries", "circumstances", "memberships", "roles", "grants", "patterns", "policies"):
        _table(folder / name, schemas[name], ())
    for name, document in (
        ("manifest.json", {"schema": SCHEMA_VERSION, "policy_version": 1}),
        ("parameters.json", {"tags": ["urn:li:tag:PII"]}),
        ("grants_exports.json", {"folder": "exports"}),
        ("exports/exports.json", {"exports": [_EXPORT]}),
    ):
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    with (folder / "exports" / "grants_to_users.csv").open("w", encoding="utf-8") as file:
        file.write("CREATED_ON,DELETED_ON,ROLE,GRANTED_TO,GRANTEE_NAME,GRANTED_BY\n")
        file.writelines(f",,{role + 1},USER,U{(role * 7 + at) % users},X\n" for role in range(roles) for at in range(5))
    count = 0
    with (folder / "exports" / "grants_to_roles.csv").open("w", encoding="utf-8") as file:
        file.write(
            "CREATED_ON,PRIVILEGE,GRANTED_ON,NAME,TABLE_CATALOG,TABLE_SCHEMA,GRANTED_TO,GRANTEE_NAME,DELETED_ON\n"
        )
        for role, number, privilege in _held(datasets, roles, grants):
            catalog, schema, name = names[number].upper().split(".")
            file.write(f"2026-01-01,{privilege},TABLE,{name},{catalog},{schema},ROLE,{role},\n")
            count += 1
    return count


def _pairs(datasets: int, roles: int, grants: int) -> Iterator[tuple[int, int]]:
    """Return role and dataset, both from 1: a stretch of datasets for each role."""
    each = grants * 4 // 5 // roles
    for role in range(1, roles + 1):
        start = role * 7919
        for at in range(each):
            yield role, (start + at) % datasets + 1


def _facets(datasets: int, roles: int, grants: int, people: list[str]) -> Iterator[tuple[int, str, str, str]]:
    for number in range(1, datasets + 1):
        yield number, "PLATFORM", "urn:li:dataPlatform:snowflake", ""
        if number % 20 == 0:
            yield number, "TAG", "urn:li:tag:PII", ""
    for role, number in _pairs(datasets, roles, grants):
        yield number, "ACCESS_ROLE", f"urn:li:role:wh_{role}", ""
    for role in range(1, roles + 1):
        yield datasets + role, "ROLE_TYPE", "READ", ""
        for at in range(5):
            yield datasets + role, "ROLE_USER", people[((role - 1) * 7 + at) % len(people)], ""


def _held(datasets: int, roles: int, grants: int) -> Iterator[tuple[int, int, str]]:
    """Return role, dataset and privilege as the source has them."""
    dice = dice_of("drift")
    for role, number in _pairs(datasets, roles, grants):
        chance = dice.randrange(_ODDS * 4)
        if chance < 4:
            continue
        yield role, number, "SELECT"
        if chance < 8:
            yield role, number % datasets + 1 if chance < 6 else number, "SELECT" if chance < 6 else "INSERT"
        elif chance % 4 == 0:
            # Privileges that reach no data stand in real exports too.
            yield role, number, "REFERENCES"


def _table(place: Path, schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> None:
    found = iter(rows)
    with pq.ParquetWriter(place.with_suffix(".parquet"), schema, compression="zstd") as writer:
        while batch := list(islice(found, _BATCH)):
            columns = zip(zip(*batch, strict=True), schema, strict=True)
            writer.write_table(pa.table([pa.array(values, field.type) for values, field in columns], schema=schema))
