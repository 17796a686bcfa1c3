"""The names under which clients look for an aspect in an answer."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

#: Where aspects are that no client has a class for; any name does no harm there.
_UNKNOWN_PACKAGE = "com.linkedin.unknown"


def full_name(aspect: str) -> str:
    """Return the name of the class that a client reads this aspect into, with its package."""
    return load_full_names().get(aspect) or f"{_UNKNOWN_PACKAGE}.{_capitalize(aspect)}"


def aspect_name(full_name: str) -> str:
    """Return the aspect that a class stands for, with the package that clients use inside taken off."""
    aspect = _load_aspect_names().get(full_name.replace(".pegasus2avro.", "."))
    name = full_name.rpartition(".")[2]
    return aspect or name[:1].lower() + name[1:]


@cache
def _load_aspect_names() -> Mapping[str, str]:
    return MappingProxyType({name: aspect for aspect, name in load_full_names().items()})


@cache
def load_full_names() -> Mapping[str, str]:
    """Return aspect → full name for every aspect that clients have a class for."""
    document = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
    classes = document["classes"]
    return MappingProxyType(
        {
            aspect: f"{package}.{classes.get(aspect) or _capitalize(aspect)}"
            for package, aspects in document["packages"].items()
            for aspect in aspects
        }
    )


def _capitalize(name: str) -> str:
    return name[:1].upper() + name[1:]
