"""The names under which clients look for an aspect in an answer."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

#: Where aspects are that no client has a class for; any name does no harm there.
_UNKNOWN = "com.linkedin.unknown"


def full_name(aspect: str) -> str:
    """Return the name of the class that a client reads this aspect into, with its package."""
    return table().get(aspect) or f"{_UNKNOWN}.{_capitalized(aspect)}"


def aspect_name(full_name: str) -> str:
    """Return the aspect that a class stands for, with the package that clients use inside taken off."""
    known = _aspects().get(full_name.replace(".pegasus2avro.", "."))
    name = full_name.rpartition(".")[2]
    return known or name[:1].lower() + name[1:]


@cache
def _aspects() -> Mapping[str, str]:
    return MappingProxyType({full: aspect for aspect, full in table().items()})


@cache
def table() -> Mapping[str, str]:
    """Return aspect → full name for every aspect that clients have a class for."""
    read = tomllib.loads(Path(__file__).with_name("names.toml").read_text(encoding="utf-8"))
    classes = read["classes"]
    return MappingProxyType(
        {
            aspect: f"{package}.{classes.get(aspect) or _capitalized(aspect)}"
            for package, aspects in read["packages"].items()
            for aspect in aspects
        }
    )


def _capitalized(name: str) -> str:
    return name[:1].upper() + name[1:]
