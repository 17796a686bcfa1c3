"""The hierarchy of organizations, folders and projects, as gcloud prints it, one JSON object a line.

A line is one project or folder: of `gcloud asset search-all-resources` or `gcloud asset export`, with everything above
it, or of `gcloud projects list` and `gcloud resource-manager folders list`, with its parent. There are as many lines as
projects and folders, so that they are collected.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_NODE_PATTERN = re.compile("(organizations|folders|projects)/([^/]+)$")
#: Google nests folders ten deep.
_MAX_DEPTH = 20
_PLURALS = {"organization": "organizations", "folder": "folders", "project": "projects"}


class BadLine(Exception):
    """A line that is not what its file should hold; the message is a sentence."""


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object of a line. Raises BadLine."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLine("It is no JSON.") from error
    if not isinstance(document, dict):
        raise BadLine("It is no JSON object.")
    return document


@dataclass(frozen=True, slots=True)
class HierarchyNode:
    """A project or folder: its names (`folders/8`; `projects/` with the identifier or the number) and what is above."""

    names: tuple[str, ...]
    ancestors: tuple[str, ...]

    @property
    def project(self) -> str | None:
        """The identifier of a project; None for a folder, or where only the number is known."""
        names = (name.removeprefix("projects/") for name in self.names if name.startswith("projects/"))
        return next((name for name in names if not name.isdigit()), None)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """`projects`: the projects in each container: an organization, a folder, or a project by either of its names."""

    projects: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def find_project(self, container: str) -> str | None:
        """Return the identifier of a project that is named by its number or identifier."""
        return next(iter(self.projects.get(container, ())), None) if container.startswith("projects/") else None


def parse_node(text: str) -> HierarchyNode:
    """Return the project or folder of a line. Raises BadLine."""
    document = parse_object(text)
    resource = document.get("resource")
    data = resource.get("data") if isinstance(resource, dict) else None
    sources = [document, data if isinstance(data, dict) else {}]
    names = list(_list_names(sources))
    nodes = [*_read_texts(document.get("ancestors")), *_read_texts(document.get("folders"))]
    nodes += [_read_parent(source) for source in sources]
    nodes += [_find_node(document.get("organization")), _find_node(document.get("parentFullResourceName"))]
    ancestors = tuple(dict.fromkeys(node for node in nodes if node and node not in names))
    if not names:
        raise BadLine("It names no project or folder.")
    return HierarchyNode(tuple(dict.fromkeys(names)), ancestors)


def _list_names(sources: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for source in sources:
        if node := _find_node(source.get("name")):
            yield node
        for key in ("projectId", "projectNumber"):
            if isinstance(source.get(key), str | int) and source[key]:
                yield f"projects/{source[key]}"
        if (node := _find_node(source.get("project"))) and "folders" not in str(source.get("name")):
            yield node


def _read_texts(value: Any) -> list[str]:
    return [node for item in value if (node := _find_node(item))] if isinstance(value, list) else []


def _read_parent(source: Mapping[str, Any]) -> str:
    parent = source.get("parent")
    if isinstance(parent, dict):
        return f"{_PLURALS.get(str(parent.get('type')), '')}/{parent.get('id')}"
    return _find_node(parent)


def _find_node(value: Any) -> str:
    match = _NODE_PATTERN.search(value) if isinstance(value, str) else None
    return match[0] if match else ""


def build_hierarchy(nodes: Iterable[HierarchyNode]) -> Hierarchy:
    """Return the projects in each container; what a folder is in, its projects are in."""
    node_list = list(nodes)
    ancestors_by_name = {name: node.ancestors for node in node_list for name in node.names}
    projects: dict[str, set[str]] = {}
    for node in node_list:
        places = {*node.names, *node.ancestors}
        for _ in range(_MAX_DEPTH):
            places |= {ancestor for container in places for ancestor in ancestors_by_name.get(container, ())}
        for container in places:
            projects.setdefault(container, set()).update([node.project] if node.project else ())
    return Hierarchy({container: frozenset(names) for container, names in projects.items()})
