"""Registries: lists of objects that other rooms, and other packages, add to a room below them (docs/adr/0057).

The setting REGISTRIES names what ships under each name, in its order. A package adds to a registry by an entry point of
the group `authzsite.<name>`; those follow what ships, in the order of their names.
"""

from functools import cache
from importlib.metadata import entry_points
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

_GROUP_PREFIX = "authzsite."


def load_entries(name: str) -> tuple[Any, ...]:
    """Return the objects of a registry, those that ship first; each module is imported once, on the first call.

    Raises KeyError for a registry that the settings do not have, and ImportError for a path that names no object.
    """
    return _import_entries(name, tuple(settings.REGISTRIES[name]))


@cache
def _import_entries(name: str, paths: tuple[str, ...]) -> tuple[Any, ...]:
    others = sorted(entry_points(group=_GROUP_PREFIX + name), key=lambda entry_point: entry_point.name)
    return (*map(import_string, paths), *(entry_point.load() for entry_point in others))
