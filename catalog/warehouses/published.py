"""The published facts of a system: `published.toml` in its folder.

`[headers.NAME]` are the columns of a layout: `needed` tell one from another, `further` may stand beside. `[words]` are
lists of the system's own words.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class PublishedHeader:
    """The columns of a layout, in lower case."""

    needed: tuple[str, ...]
    further: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Published:
    """The headers by the names of their layouts, and the words by the names of their lists."""

    headers: Mapping[str, PublishedHeader]
    words: Mapping[str, tuple[str, ...]]


def read_published(package: str) -> Published:
    """Return what the system of a package publishes."""
    document = tomllib.loads((files(package) / "published.toml").read_text(encoding="utf-8"))
    headers = {
        name: PublishedHeader(tuple(header["needed"].split()), tuple(header.get("further", "").split()))
        for name, header in document["headers"].items()
    }
    return Published(headers, {name: tuple(words) for name, words in document.get("words", {}).items()})
