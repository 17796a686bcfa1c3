"""The document that describes the API (OpenAPI 3.1), and a page of our own to read it and try it from.

The page is plain HTML: the site's content policy lets no inline script or style pass, and nothing is fetched from
elsewhere.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from drf_spectacular.generators import SchemaGenerator

from policies.http.guard import API, public, signed_in

Endpoint = tuple[str, str, str, Any]

_EXAMPLES = {"string": "…", "integer": 1, "boolean": True, "number": 1.0}


def canonical(endpoints: Iterable[Endpoint], **_: Any) -> list[Endpoint]:
    """Keep the API's own endpoints, each under the spelling that the contract gives."""
    return [
        (path, regex, method, view)
        for path, regex, method, view in endpoints
        if path.startswith("/api/v1/") and not getattr(view, "initkwargs", {}).get("is_other_spelling")
    ]


def finished(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Say of every operation that it can be refused in words: the shape is a problem, whatever the status."""
    result["servers"] = [{"url": "/"}]
    return result


@public.with_channel(API)
def document(_request: HttpRequest) -> HttpResponse:
    """Return the document; it says nothing about this installation, so everybody may read it."""
    return JsonResponse(_document())


@signed_in.with_channel(API)
def page(request: HttpRequest) -> HttpResponse:
    """Show every operation with its shapes and a command to try it with."""
    found = _document()
    base = request.build_absolute_uri("/").rstrip("/")
    return render(request, "api/docs.html", {"groups": _groups(found, base), "info": found["info"]})


def _document() -> dict[str, Any]:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]  # drf-spectacular leaves it untyped
    found: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return found


def _groups(found: Mapping[str, Any], base: str) -> list[dict[str, Any]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            if method in ("get", "post", "put", "patch", "delete"):
                groups.setdefault(operation["tags"][0], []).append(_operation(found, base, path, method, operation))
    return [
        {"name": name, "title": name.replace("-", " ").capitalize(), "operations": operations}
        for name, operations in sorted(groups.items())
    ]


def _operation(
    found: Mapping[str, Any], base: str, path: str, method: str, operation: Mapping[str, Any]
) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    example = None if body is None else json.dumps(_example(found, body["schema"]), ensure_ascii=False, indent=2)
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation.get("summary", ""),
        "description": operation.get("description", ""),
        "parameters": [_parameter(found, one) for one in operation.get("parameters", [])],
        "example": example,
        "responses": [
            {"status": status, "description": response.get("description", "")}
            for status, response in operation["responses"].items()
        ],
        "command": _command(base, path, method, example),
    }


def _parameter(found: Mapping[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, place, need, words and the values that the parameter can have, as the page shows them."""
    schema = parameter["schema"]
    if "$ref" in schema:
        schema = found["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return {
        "name": parameter["name"],
        "place": parameter["in"],
        "is_required": parameter.get("required", False),
        "description": parameter.get("description", ""),
        "values": schema.get("enum", []),
        "type": schema.get("type", ""),
    }


def _command(base: str, path: str, method: str, example: str | None) -> str:
    words = ["curl", "-X", method.upper(), base + path, "-H", "Authorization: Bearer $TOKEN"]
    if example is not None:
        words += ["-H", "Content-Type: application/json", "-d", example]
    return " ".join(f'"{word}"' if "$TOKEN" in word else shlex.quote(word) for word in words)


def _example(found: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value of the shape that a schema describes, with the needed fields of objects only below the top."""
    if "$ref" in schema:
        return _example(found, found["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    for choice in ("oneOf", "anyOf", "allOf"):
        if schema.get(choice):
            return _example(found, schema[choice][0], depth)
    if schema.get("enum"):
        return schema["enum"][0]
    kinds = schema.get("type", "object")
    kind = kinds if isinstance(kinds, str) else next(iter(kinds))
    if kind == "array":
        return [_example(found, schema.get("items", {}), depth + 1)]
    if kind == "object":
        return dict(_properties(found, schema, depth))
    return _EXAMPLES.get(kind)


def _properties(found: Mapping[str, Any], schema: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    needed = schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        if name in needed or (depth == 0 and not needed):
            yield name, _example(found, inner, depth + 1)
