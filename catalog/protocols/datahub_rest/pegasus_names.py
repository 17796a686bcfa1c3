"""Full class names of aspects, under which clients look for an aspect in a response."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

#: Package of aspects for which no client has a class, so that any name does.
_UNKNOWN_PACKAGE = "com.linkedin.unknown"


def full_name(aspect: str) -> str:
    """Return the full name of the class into which clients read an aspect."""
    return load_full_names().get(aspect) or f"{_UNKNOWN_PACKAGE}.{_capitalize(aspect)}"


def aspect_name(full_name: str) -> str:
    """Return the aspect of a full class name; the package part `.pegasus2avro.`, internal to clients, is dropped."""
    aspect = _load_aspect_names().get(full_name.replace(".pegasus2avro.", "."))
    name = full_name.rpartition(".")[2]
    return aspect or name[:1].lower() + name[1:]


@cache
def _load_aspect_names() -> Mapping[str, str]:
    return MappingProxyType({name: aspect for aspect, name in load_full_names().items()})


@cache
def load_full_names() -> Mapping[str, str]:
    """Return aspect → full class name, for every aspect for which clients have a class."""
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
