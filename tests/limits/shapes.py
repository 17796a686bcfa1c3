"""The worst JSON that fits into a limit: made from a schema alone, so that what is new is covered by itself.

A schema is JSON Schema as OpenAPI and pydantic write it. For each list and object anywhere in it there are values with
that one part as large as it can be, everything around it being an example that passes.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

Schema = Mapping[str, Any]

#: Members that hardly a list takes: all of one type are refused by a faster path than mixed ones.
BAD_MEMBERS: tuple[Any, ...] = (1, "x", {}, [])

#: How deep lists and objects are looked into.
MAX_DEPTH = 6

#: Most bytes of each member of a list that has the worst members, as opposed to the most.
MEMBER_SIZE = 600


class Body(NamedTuple):
    """What is sent, and a name that says what is large in it."""

    name: str
    content: bytes


class Part(NamedTuple):
    """A value, and the name of what is large in it."""

    name: str
    value: Any


@dataclass(frozen=True)
class Room:
    """How much a body may bring: bytes, commas and opening brackets, levels, and members of lists whose schema names
    no number.
    """

    size: int
    signs: int
    depth: int = 60
    members: int = 10_000_000

    def repeat(self, value: Callable[[int], Any], limit: int) -> list[Any]:
        """Return a list of as many values as fit, at most so many."""
        sample = encode([value(number) for number in range(90_000, 90_008)])
        size, signs = len(sample) // 8 + 1, count_signs(sample) / 8
        return [value(number) for number in range(min(int(self.size / size), int(self.signs / signs), limit))]

    def fill(self) -> dict[str, int]:
        """Return an object of as many names as fit, 10,000 being the most of one."""
        return {f"k{number}": 1 for number in range(min(self.size // 12, self.signs, 10_000))}

    def nest(self) -> Any:
        """Return a list of as many levels as there may be, with as many members as fit inside."""
        value: Any = self.repeat(lambda number: number, self.members)
        for _ in range(self.depth):
            value = [value]
        return value


@dataclass(frozen=True)
class Shapes:
    """Values of the schemas of one document."""

    definitions: Mapping[str, Schema]

    def list_bodies(self, schema: Schema, room: Room) -> list[Body]:
        """Return the worst bodies of a schema, none of them twice."""
        found: dict[bytes, str] = {}
        for part in self._list_parts(schema, room, 0):
            found.setdefault(encode(part.value), part.name)
        return [Body(name, content) for content, name in found.items()]

    def make_example(self, schema: Schema, number: int = 0, depth: int = 0) -> Any:
        """Return a value that passes, another one for each number."""
        schema = self._resolve(schema)
        if branches := list_branches(schema):
            return self.make_example(branches[0], number, depth)
        if "const" in schema or schema.get("enum"):
            return schema.get("const", next(iter(schema.get("enum") or (None,))))
        match find_type(schema):
            case "object":
                names = schema.get("required", ()) if depth < MAX_DEPTH else ()
                properties = schema.get("properties", {})
                return {name: self.make_example(properties[name], number, depth + 1) for name in names}
            case "array":
                return []
            case "integer" | "number":
                return max(1, schema.get("minimum", 1))
            case "boolean":
                return False
            case _:
                return f"urn:li:corpuser:n{number}"

    def _resolve(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].rpartition("/")[2]]
        return schema

    def _list_parts(self, schema: Schema, room: Room, depth: int) -> Iterator[Part]:
        schema = self._resolve(schema)
        if depth > MAX_DEPTH:
            return
        for branch in list_branches(schema):
            yield from self._list_parts(branch, room, depth)
        match find_type(schema):
            case "array":
                yield from self._list_arrays(schema, room, depth)
            case "object":
                yield from self._list_objects(schema, room, depth)
            case None if not list_branches(schema):
                yield Part("(names)", room.fill())
                yield Part("(levels)", room.nest())
            case _:
                return

    def _list_arrays(self, schema: Schema, room: Room, depth: int) -> Iterator[Part]:
        items = schema.get("items", {})
        limit = schema.get("maxItems", room.members)
        yield Part("[bad, too many]", room.repeat(lambda number: BAD_MEMBERS[number % 4], room.size))
        yield Part("[bad]", room.repeat(lambda number: BAD_MEMBERS[number % 4], limit))
        yield Part("[good]", room.repeat(lambda number: self.make_example(items, number), limit))
        for part in self._list_parts(items, replace(room, size=min(room.size, MEMBER_SIZE)), depth + 1):
            yield Part(f"[*]{part.name}", room.repeat(partial(_take_first, part.value), limit))

    def _list_objects(self, schema: Schema, room: Room, depth: int) -> Iterator[Part]:
        example = self.make_example(schema)
        properties = schema.get("properties", {})
        yield Part("{names}", {**example, **room.fill()})
        texts = [name for name, inner in properties.items() if find_type(self._resolve(inner)) == "string"]
        if texts:
            yield Part("{texts}", {**example, **dict.fromkeys(texts, "x" * (room.size // len(texts)))})
        for name, inner in properties.items():
            for part in self._list_parts(inner, room, depth + 1):
                yield Part(f".{name}{part.name}", {**example, name: part.value})


def _take_first(value: Any, _number: int) -> Any:
    return value


def list_branches(schema: Schema) -> list[Schema]:
    """Return the schemas of which a value has one."""
    return [branch for word in ("oneOf", "anyOf", "allOf") for branch in schema.get(word, ())]


def find_type(schema: Schema) -> str | None:
    """Return the type that a schema names, the first one beside null; None where it takes anything."""
    types = schema.get("type")
    if isinstance(types, list):
        return next((name for name in types if name != "null"), "null")
    return "object" if types is None and "properties" in schema else types


def encode(value: Any) -> bytes:
    """Return a value as it is sent."""
    return json.dumps(value, separators=(",", ":")).encode()


def count_signs(content: bytes) -> int:
    """Return how many commas and opening brackets a text has."""
    return sum(content.count(sign) for sign in (b",", b"[", b"{"))


def list_raw_bodies(size: int, signs: int) -> list[Body]:
    """Return the worst bodies for whoever reads JSON, whatever it is about."""
    many = min(signs - 100, size // 3)
    return [
        Body("blank", b" " * size),
        Body("brackets", b"[" * min(size, signs)),
        Body("braces", b'{"a":' * min(signs, size // 5)),
        Body("levels", b"[" * 60 + b"1," * (many - 70) + b"1" + b"]" * 60),
        Body("empty lists", b"[" + b"[]," * (many // 2) + b"[]]"),
        Body("empty objects", b"[" + b"{}," * (many // 2) + b"{}]"),
        Body("signs", b"," * size),
        Body("digits", b"1" * size),
        Body("numbers", b"[" + b"1," * many + b"1]"),
        Body("text", b'"' + b"x" * (size - 2) + b'"'),
        Body("letters", '"{}"'.format("é" * (size // 2 - 2)).encode()),
        Body("escapes", b'"' + rb"\u0000" * (size // 6 - 1) + b'"'),
        Body("surrogates", b"[" + rb'"\ud800",' * min(signs - 9, size // 9 - 2) + b"1]"),
        Body("names", encode({f"k{number}": 1 for number in range(min(signs, size // 14))})),
    ]
