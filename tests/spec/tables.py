"""Reads the specification: Markdown files with worlds, published policies and decision tables.

A file is a chapter, a heading of level two a section. Fenced blocks mean:

    ```world     people, entities and hierarchies, one a line:
                     user jo groups=a,b roles=Reader suspended
                     group a roles=Editor
                     entity dataset:orders owners=jo/technical_owner tags=pii domains=sales
                     under domain:sales domain:company
    ```json      policies: an object of short id → dataHubPolicyInfo; displayName and description may be left out
    ```boot      nothing: the default policies as they are shipped
    ```table     the questions and their answers

What stands before the first section holds for the whole chapter. Every section with a table says where it comes from
("Source: ..."), and may say by whom it can be run ("Runs on: engine, oracle").
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.worlds import World, boot_policies, document, urn, urns

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_QUESTION_COLUMNS = {"actor", "privilege", "any of", "operation", "resource", "sub-resources", "related", "type"}
_LISTS = {
    "because": None,
    "privileges": None,
    "users": "user",
    "groups": "group",
    "roles": "role",
    "entities": "urn",
} | {"obstacles": None}
_FLAGS = {"all users", "all groups"}

Cell = str | bool | list[str]


@dataclass(frozen=True)
class Asked:
    """One question. `kind` is authorize, any_of, operation, granted, details, who or what."""

    kind: str
    actor: str = ""
    privilege: str = ""
    any_of: tuple[tuple[str, ...], ...] = ()
    operation: str = ""
    resource: str | None = None
    type: str | None = None
    subresources: tuple[str, ...] = ()
    related: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """One line of a table: the question, and the answer by column."""

    text: str
    asked: Asked
    expected: dict[str, Cell]


@dataclass(frozen=True)
class Section:
    """A world with its policies, and the rows of the tables about it."""

    name: str
    source: str
    runners: tuple[str, ...] | None
    world: World
    rows: tuple[Row, ...]


def chapters(folder: Path) -> Iterator[Section]:
    """Return every section of every chapter that has a table."""
    for path in sorted(folder.glob("*.md")):
        head, *parts = re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for part in parts:
            section = _section(path.stem, head, part)
            if section.rows:
                yield section


def _section(chapter: str, head: str, part: str) -> Section:
    title = part.partition("\n")[0].strip()
    name = f"{chapter}: {title}"
    blocks = [*_FENCE.findall(head), *_FENCE.findall(part)]
    tables = [text for kind, text in blocks if kind == "table"]
    source = _line(part, "Source") or _line(head, "Source")
    if tables and not source:
        raise ValueError(f"{name} does not say where it comes from")
    runners = _line(part, "Runs on")
    rows = tuple(row for table in tables for row in _rows(name, table))
    return Section(name, source, tuple(runners.split(", ")) if runners else None, _world(blocks), rows)


def _line(text: str, label: str) -> str:
    found = re.search(rf"^{label}: (.+?)\.?$", text, re.MULTILINE)
    return found.group(1) if found else ""


def _world(blocks: list[tuple[str, str]]) -> World:
    world = World()
    for kind, text in blocks:
        if kind == "world":
            for line in filter(None, map(str.strip, text.splitlines())):
                _say(world, line)
        if kind == "boot":
            world.policies.extend(boot_policies())
        if kind == "json":
            for name, policy in json.loads(text).items():
                world.policy(name, document(displayName=name) | policy)
    return world


def _say(world: World, line: str) -> None:
    noun, name, *rest = line.split()
    words = [word for word in rest if "=" not in word]
    facts = {key: value.split(",") for key, _, value in (word.partition("=") for word in rest if "=" in word)}
    match noun:
        case "user":
            world.user(name, **facts, is_suspended="suspended" in words)
        case "group":
            world.group(name, **facts)
        case "entity":
            world.entity(name, **facts)
        case "under":
            world.under(name, *words)
        case _:
            raise ValueError(f"A world has no {noun!r}")


def _rows(name: str, table: str) -> Iterator[Row]:
    header, *lines = [line for line in table.splitlines() if line.strip()]
    columns = [column.strip() for column in header.split("|")]
    unknown = set(columns) - _QUESTION_COLUMNS - _LISTS.keys() - _FLAGS - {"decision"}
    if unknown:
        raise ValueError(f"{name}: no such column: {', '.join(sorted(unknown))}")
    for line in lines:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != len(columns):
            raise ValueError(f"{name}: {line!r} does not fit its table")
        row = dict(zip(columns, cells, strict=True))
        expected = {column: _answer(column, cell) for column, cell in row.items() if column not in _QUESTION_COLUMNS}
        yield Row(line.strip(), _asked(row), expected)


def _answer(column: str, cell: str) -> Cell:
    if column in _FLAGS:
        return {"yes": True, "no": False}[cell]
    if column == "decision":
        if cell not in ("ALLOW", "DENY"):
            raise ValueError(f"{cell!r} is no decision")
        return cell
    kind = _LISTS[column]
    names = _names(cell)
    return sorted(names if kind is None else urns(names, kind if kind != "urn" else ""))


def _names(cell: str) -> list[str]:
    return [] if cell == "-" else [name.strip() for name in cell.split(",")]


def _asked(row: dict[str, str]) -> Asked:
    place = row.get("resource", "-")
    is_type = place.startswith("type:")
    words = row.get("related", "-").split() if row.get("related", "-") != "-" else []
    return Asked(
        kind=_kind(row),
        actor=urn(row["actor"]) if "actor" in row else "",
        privilege=row.get("privilege", ""),
        any_of=_alternatives(row.get("any of", "-")),
        operation=row.get("operation", ""),
        resource=None if place == "-" or is_type else urn(place),
        type=place.removeprefix("type:") if is_type else row.get("type"),
        subresources=tuple(urns(_names(row.get("sub-resources", "-")))),
        related={key: urns(_names(value)) for key, _, value in (word.partition("=") for word in words)},
    )


def _alternatives(cell: str) -> tuple[tuple[str, ...], ...]:
    if cell == "-":
        return ()
    lists = [[name.strip() for name in part.split(" and ")] for part in cell.split(" or ")]
    return tuple(() if names == ["nothing"] else tuple(names) for names in lists)


def _kind(row: dict[str, str]) -> str:
    for column, kind in (
        ("privileges", "granted"),
        ("entities", "what"),
        ("all users", "who"),
        ("obstacles", "details"),
    ):
        if column in row:
            return kind
    return "any_of" if "any of" in row else "operation" if "operation" in row else "authorize"
