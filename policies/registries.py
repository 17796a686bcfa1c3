"""Registries: what rooms above, and other packages, give to a room below them under a name (docs/adr/0057-changes.md).

The setting REGISTRIES names what ships: registry → name → dotted path of an object, in their order. A package adds to a
registry by an entry point of the group `authzsite.<registry>`; those follow in the order of their names. Nothing is
imported before it is asked for.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

_GROUP_PREFIX = "authzsite."


def load_entries(registry: str) -> Mapping[str, Any]:
    """Return the objects of a registry by their names, in their order.

    Raises KeyError for a registry that the settings do not have, ImportError for a path that names no object, and
    ValueError for a package that takes a name again.
    """
    return _load_entries(registry, tuple(settings.REGISTRIES[registry].items()))


def load_entry(registry: str, name: str) -> Any:
    """Return one object that ships, without importing the others. Raises KeyError and ImportError."""
    return import_string(settings.REGISTRIES[registry][name])


@cache
def _load_entries(registry: str, paths: tuple[tuple[str, str], ...]) -> Mapping[str, Any]:
    entries = {name: import_string(path) for name, path in paths}
    for entry_point in sorted(entry_points(group=_GROUP_PREFIX + registry), key=lambda entry_point: entry_point.name):
        if entry_point.name in entries:
            raise ValueError(f"{entry_point.value} of {entry_point.group} has the name of another: {entry_point.name}.")
        entries[entry_point.name] = entry_point.load()
    return MappingProxyType(entries)
