"""The OpenAPI 3.1 document of the API, and a page to read it and try it from.

The page is plain HTML: the site's content security policy allows no inline script or style, and nothing is fetched from
other hosts.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import get_resolver
from django.utils.safestring import SafeString
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from policies.http.api import openapi_docs
from policies.http.guard import API, public, signed_in

Endpoint = tuple[str, str, str, Any]

#: Tasks of readers, in the order of the page, with the tags of their operations; other tags come last.
_TASKS = (
    ("Ask who may do what", ("authorize", "who", "what", "granted-privileges", "render", "operations")),
    ("Write policies", ("policies", "preview", "guardrails", "bundles")),
    ("Ask for access and decide", ("requests", "approval rules")),
    ("People, groups and roles", ("people", "tokens")),
    ("Entities and warehouses", ("entities", "grants", "external roles", "connections")),
    ("Prove and follow", ("reports", "audit", "events", "notifications", "status")),
)
_OTHER_TASK = "More"
#: Addresses of the site under which the page is kept ready: a site has one or two.
_MAX_ADDRESSES = 4

_EXAMPLE_VALUES = {"string": "…", "integer": 1, "boolean": True, "number": 1.0}


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The OpenAPI scheme of tokens in the Authorization header."""

    target_class = "policies.identity.api.token_authentication.TokenAuthentication"
    name = "bearer"

    def get_security_definition(self, _auto_schema: AutoSchema) -> dict[str, Any]:
        """Return the security scheme object."""
        return {"type": "http", "scheme": "bearer", "description": "A personal access token or a service's token."}


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The OpenAPI scheme of the session cookie of the pages."""

    target_class = "policies.identity.api.token_authentication.PageSession"
    name = "session"

    def get_security_definition(self, _auto_schema: AutoSchema) -> dict[str, Any]:
        """Return the security scheme object."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


def filter_endpoints(endpoints: Iterable[Endpoint], **_: Any) -> list[Endpoint]:
    """Return the endpoints under /api/v1/, each under its canonical spelling only (drf-spectacular hook)."""
    return [
        (path, regex, method, view)
        for path, regex, method, view in endpoints
        if path.startswith("/api/v1/") and not getattr(view, "initkwargs", {}).get("is_other_spelling")
    ]


def set_servers(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Set the server of the document to "/" (drf-spectacular hook)."""
    result["servers"] = [{"url": "/"}]
    return result


@public.with_channel(API)
def serve_document(_request: HttpRequest) -> HttpResponse:
    """Serve the document; it says nothing about this installation, so everybody may read it."""
    return JsonResponse(generate_document())


@signed_in.with_channel(API)
def show_docs(request: HttpRequest) -> HttpResponse:
    """Show every operation with its shapes and a command to try it with."""
    base_url = request.build_absolute_uri("/").rstrip("/")
    return render(
        request, "api/docs.html", {"operations": _render_operations(base_url), "info": generate_document()["info"]}
    )


class DocumentGenerator(SchemaGenerator):
    """The generator of the document, also for the library's command and its system check (SPECTACULAR_SETTINGS)."""

    def get_schema(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the document, with the descriptions that were collected while the views were imported."""
        # Names every address, which imports also the views that are imported late (`lazy_paths`).
        _ = get_resolver().reverse_dict
        openapi_docs.apply_descriptions()
        document: dict[str, Any] = super().get_schema(*args, **kwargs)  # type: ignore[no-untyped-call]
        return document


@cache
def generate_document() -> dict[str, Any]:
    """Return the document, which does not change while a process runs."""
    generator = DocumentGenerator()  # type: ignore[no-untyped-call]  # drf-spectacular leaves it untyped
    return generator.get_schema(request=None, public=True)


@lru_cache(maxsize=_MAX_ADDRESSES)
def _render_operations(base_url: str) -> SafeString:
    """Return the operations as HTML, with commands for a site at this address."""
    return render_to_string("api/_operations.html", {"tasks": _group_operations(generate_document(), base_url)})


def _group_operations(document: Mapping[str, Any], base_url: str) -> list[dict[str, Any]]:
    """Return the groups of operations by task: [{title, groups: [{id, title, operations}]}]."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in ("get", "post", "put", "patch", "delete"):
                groups.setdefault(operation["tags"][0], []).append(
                    _build_operation(document, base_url, path, method, operation)
                )
    listed_tags = {tag for _, tags in _TASKS for tag in tags}
    tasks = (*_TASKS, (_OTHER_TASK, tuple(sorted(groups.keys() - listed_tags))))
    return [
        {"title": title, "groups": [_build_group(tag, groups[tag]) for tag in tags if tag in groups]}
        for title, tags in tasks
        if not groups.keys().isdisjoint(tags)
    ]


def _build_group(tag: str, operations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "id": tag.replace(" ", "-"),
        "title": tag.replace("-", " ").capitalize(),
        "operations": operations,
    }


def _build_operation(
    document: Mapping[str, Any], base_url: str, path: str, method: str, operation: Mapping[str, Any]
) -> dict[str, Any]:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    example = (
        None if body is None else json.dumps(_build_example(document, body["schema"]), ensure_ascii=False, indent=2)
    )
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation.get("summary", ""),
        "description": operation.get("description", ""),
        "parameters": [_build_parameter(document, parameter) for parameter in operation.get("parameters", [])],
        "example": example,
        "responses": [
            {"status": status, "description": response.get("description", "")}
            for status, response in operation["responses"].items()
        ],
        "command": _render_command(base_url, path, method, example),
    }


def _build_parameter(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return name, location, requiredness, description, type and enum values of a parameter, for the page."""
    schema = parameter["schema"]
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return {
        "name": parameter["name"],
        "place": parameter["in"],
        "is_required": parameter.get("required", False),
        "description": parameter.get("description", ""),
        "values": schema.get("enum", []),
        "type": schema.get("type", ""),
    }


def _render_command(base_url: str, path: str, method: str, example: str | None) -> str:
    words = ["curl", "-X", method.upper(), base_url + path, "-H", "Authorization: Bearer $TOKEN"]
    if example is not None:
        words += ["-H", "Content-Type: application/json", "-d", example]
    return " ".join(f'"{word}"' if "$TOKEN" in word else shlex.quote(word) for word in words)


def _build_example(document: Mapping[str, Any], schema: Mapping[str, Any], depth: int = 0) -> Any:
    """Return an example value for a schema; below the top level an object has its required properties only."""
    if "$ref" in schema:
        return _build_example(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    for choice in ("oneOf", "anyOf", "allOf"):
        if schema.get(choice):
            return _build_example(document, schema[choice][0], depth)
    if schema.get("enum"):
        return schema["enum"][0]
    type_names = schema.get("type", "object")
    type_name = type_names if isinstance(type_names, str) else next(iter(type_names))
    if type_name == "array":
        return [_build_example(document, schema.get("items", {}), depth + 1)]
    if type_name == "object":
        return dict(_iterate_properties(document, schema, depth))
    return _EXAMPLE_VALUES.get(type_name)


def _iterate_properties(
    document: Mapping[str, Any], schema: Mapping[str, Any], depth: int
) -> Iterator[tuple[str, Any]]:
    required_names = schema.get("required", ())
    for name, property_schema in schema.get("properties", {}).items():
        if name in required_names or (depth == 0 and not required_names):
            yield name, _build_example(document, property_schema, depth + 1)
