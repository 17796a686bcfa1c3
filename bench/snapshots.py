"""Writes a company of `bench.worlds` as a snapshot, the files that reports are made from, without a database.

Beside the facts that policies test, entities have terms, external roles and subjects, 12.5 facets each on average,
since a report has to get past those too.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.worlds import DATABASES, DOMAINS, GROUPS, SCHEMAS, Company, Thing, closed, dice_of
from catalog.aspects.facet_fields import ACCESS_ROLE, PLATFORM, SUBJECT
from catalog.reports.snapshot.reader import SCHEMA_VERSION
from catalog.reports.snapshot.schema import TABLES
from policies.engine.selectors import CONTAINER, DOMAIN, GLOSSARY, OWNER, TAG

VERSION = 7
AS_OF = "2026-11-01T00:00:00+00:00"

_BATCH = 50_000
_SCHEMAS = {table.name: table.schema for table in TABLES}


def write(company: Company, folder: Path, parameters: dict[str, Any]) -> dict[str, int]:
    """Write the snapshot and the parameters of a report, and return how many rows each table has."""
    folder.mkdir(parents=True)
    rows = {
        "entities": _table(folder, "entities", _entities(company)),
        "facets": _table(folder, "facets", facets(company)),
        "ancestries": _table(folder, "ancestries", ancestries()),
        "users": _table(folder, "users", ((f"urn:li:corpuser:u{number}", True) for number in range(company.users))),
        "circumstances": _table(folder, "circumstances", ()),
        "memberships": _table(folder, "memberships", memberships(company)),
        "roles": _table(folder, "roles", _roles(company)),
        "policies": _table(folder, "policies", _policies(company)),
        "grants": _table(folder, "grants", ()),
        "patterns": _table(folder, "patterns", ()),
    }
    manifest = {
        "schema": SCHEMA_VERSION,
        "policy_version": VERSION,
        "change_seq": VERSION,
        "as_of": AS_OF,
        "rows": rows,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    settings = {"administrators": [], "instance": "urn:li:instance:cdap", "is_inherited": False}
    (folder / "grants.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "parameters.json").write_text(json.dumps(parameters), encoding="utf-8")
    return rows


def facets(company: Company) -> Iterator[tuple[int, str, str, str]]:
    """Return every facet: number of the entity (from 1, as rows of a database have), field, value, type."""
    dice = dice_of("more facets")
    for number, thing in enumerate(company.things(), start=1):
        for field, value, type_ in (*_tested(thing), *_more(dice)):
            yield number, field, value, type_


def ancestries() -> Iterator[tuple[str, str]]:
    """Return every node with each node above it."""
    nodes = [f"urn:li:domain:d{number}" for number in range(DOMAINS)]
    nodes += [f"urn:li:container:b{number}" for number in range(DATABASES)]
    nodes += [f"urn:li:container:s{number}" for number in range(SCHEMAS)]
    return ((node, above) for node in nodes for above in sorted(closed(node) - {node}))


def memberships(company: Company) -> Iterator[tuple[str, str]]:
    """Return every membership: six groups a person."""
    return (pair for number in range(company.users) for pair in memberships_of(company, number))


def memberships_of(company: Company, number: int) -> list[tuple[str, str]]:
    """Return the memberships of one person."""
    person = company.person(number)
    more = f"urn:li:corpGroup:g{dice_of(f'sixth {number}').randrange(GROUPS)}"
    return [(person.urn, group) for group in dict.fromkeys((*person.groups, more))]


def _entities(company: Company) -> Iterator[tuple[Any, ...]]:
    return ((number, thing.urn, thing.type, None, None) for number, thing in enumerate(company.things(), start=1))


def _roles(company: Company) -> Iterator[tuple[str, str]]:
    for number in range(company.users):
        person = company.person(number)
        yield from ((person.urn, role) for role in person.roles)


def _policies(company: Company) -> Iterator[tuple[str, ...]]:
    return ((urn, "datahub", urn, json.dumps(document)) for urn, document in company.documents)


def _tested(thing: Thing) -> Iterator[tuple[str, str, str]]:
    yield DOMAIN, thing.domain, ""
    yield CONTAINER, thing.schema, ""
    yield PLATFORM, thing.urn.split("(")[1].split(",")[0], ""
    yield from ((TAG, tag, "") for tag in thing.tags)
    yield from ((OWNER, holder, type_) for holder, type_ in dict.fromkeys(thing.owners))


def _more(dice: Random) -> Iterator[tuple[str, str, str]]:
    for field, kind, most in ((GLOSSARY, "glossaryTerm:t", 3), (ACCESS_ROLE, "role:r", 3), (SUBJECT, "dataset:s", 2)):
        for _ in range(most - dice.randrange(2)):
            yield field, f"urn:li:{kind}{dice.randrange(2000)}", ""


def _table(folder: Path, name: str, rows: Iterable[tuple[Any, ...]]) -> int:
    schema, count, left = _SCHEMAS[name], 0, iter(rows)
    with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd") as writer:
        while batch := list(islice(left, _BATCH)):
            columns = zip(*batch, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            count += len(batch)
    return count
