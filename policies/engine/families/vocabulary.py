"""The privileges that policies can name: what each is for, what implies what, and which ones a builder offers.

The words live in `policies/engine/tables/`; this room only reads and groups them. Names are compared exactly.
"""

import difflib
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Self, TypeVar

PLATFORM = "platform"
METADATA = "metadata"

#: Longest name, in characters, that is compared with all others to find what it was meant for.
MAX_SUGGESTED = 255

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class PrivilegeInfo:
    """One privilege of a vocabulary.

    `scope` is `platform` (asked without a resource) or `metadata`. `resource_types` are the types of entities it can
    be used on, None meaning every type; `offered_for` those for which a policy builder offers it.
    """

    name: str
    display: str
    description: str
    scope: str
    category: str
    resource_types: frozenset[str] | None
    offered_for: frozenset[str]
    is_cloud_only: bool
    is_deprecated: bool
    is_rest_only: bool
    is_ours: bool


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The privileges of one family, in the order of its table, with its resource types (type → display name)."""

    privileges: Mapping[str, PrivilegeInfo]
    resource_types: Mapping[str, str]
    gives: Mapping[str, frozenset[str]]
    given_by: Mapping[str, frozenset[str]]

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Build a vocabulary from a table with `resource_type`, `privilege` and `implication` entries.

        Raises ValueError for a name given twice, or an implication of a privilege that is not in the table.
        """
        types = _unique((entry["type"], entry["display"]) for entry in table["resource_type"])
        privileges = _unique((entry["name"], _privilege(entry, types)) for entry in table["privilege"])
        direct = _unique((entry["privilege"], frozenset(entry["gives"])) for entry in table["implication"])
        if strangers := frozenset[str]().union(direct, *direct.values()) - privileges.keys():
            raise ValueError(f"Implications name unknown privileges: {', '.join(sorted(strangers))}")
        gives = {name: _closure(name, direct) for name in direct}
        given_by = {
            implied: frozenset(name for name, given in gives.items() if implied in given)
            for implied in frozenset[str]().union(*gives.values())
        }
        return cls(privileges, types, MappingProxyType(gives), MappingProxyType(given_by))

    def get(self, name: str) -> PrivilegeInfo | None:
        """Return the privilege of this name, or None."""
        return self.privileges.get(name)

    @property
    def names(self) -> frozenset[str]:
        """Every name."""
        return frozenset(self.privileges)

    def by_category(self) -> dict[str, tuple[PrivilegeInfo, ...]]:
        """Return category → its privileges, both in the order of the table."""
        groups: dict[str, list[PrivilegeInfo]] = {}
        for privilege in self.privileges.values():
            groups.setdefault(privilege.category, []).append(privilege)
        return {category: tuple(members) for category, members in groups.items()}

    def platform(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges of platform policies, in the order of the table."""
        return tuple(privilege for privilege in self.privileges.values() if privilege.scope == PLATFORM)

    def metadata(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges of metadata policies, in the order of the table."""
        return tuple(privilege for privilege in self.privileges.values() if privilege.scope == METADATA)

    def for_types(self, types: Collection[str]) -> tuple[PrivilegeInfo, ...]:
        """Return what a policy about these resource types is offered, in the order of the table.

        That is what at least one of the types is offered. A policy that names no type is about all of them. An unknown
        type adds nothing.
        """
        wanted = frozenset(types) or frozenset(self.resource_types)
        return tuple(privilege for privilege in self.privileges.values() if privilege.offered_for & wanted)

    def suggest(self, name: str) -> tuple[str, ...]:
        """Return up to three names that an unknown name may have been meant for, best first; none for a known name.

        Display names count too, in any case: for "Edit Domain" EDIT_DOMAINS_PRIVILEGE is suggested.
        """
        if name in self.privileges or len(name) > MAX_SUGGESTED:
            return ()
        spellings: dict[str, list[str]] = {}
        for privilege in self.privileges.values():
            for spelling in {_folded(privilege.name), _folded(privilege.display)}:
                spellings.setdefault(spelling, []).append(privilege.name)
        close = difflib.get_close_matches(_folded(name), spellings, n=6)
        return tuple(dict.fromkeys(found for spelling in close for found in spellings[spelling]))[:3]

    def implied_by(self, name: str) -> frozenset[str]:
        """Return the other privileges that give this one; none for an unknown name."""
        return self.given_by.get(name, frozenset())

    def widen(self, privileges: Iterable[str]) -> frozenset[str]:
        """Return these privileges and everything they give. Unknown names stay and give nothing."""
        listed = frozenset(privileges)
        return listed.union(*(self.gives[name] for name in listed & self.gives.keys()))


@cache
def datahub() -> Vocabulary:
    """Return the vocabulary of DataHub policies."""
    return Vocabulary.from_table(read_table("datahub_privileges"))


def read_table(name: str) -> dict[str, Any]:
    """Return the table `policies/engine/tables/<name>.toml`; raises FileNotFoundError when there is none."""
    text = (resources.files("policies.engine.tables") / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _privilege(entry: Mapping[str, Any], types: Mapping[str, str]) -> PrivilegeInfo:
    everywhere = types if entry["scope"] == METADATA else ()
    return PrivilegeInfo(
        name=entry["name"],
        display=entry["display"],
        description=entry["description"],
        scope=entry["scope"],
        category=entry["category"],
        resource_types=frozenset(entry["resource_types"]) if "resource_types" in entry else None,
        offered_for=frozenset(entry.get("offered_for", everywhere)),
        is_cloud_only=entry.get("cloud_only", False),
        is_deprecated=entry.get("deprecated", False),
        is_rest_only=entry.get("rest_api_only", False),
        is_ours=entry.get("ours", False),
    )


def _unique(pairs: Iterable[tuple[str, Value]]) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name} stands in the table twice")
        found[name] = value
    return MappingProxyType(found)


def _closure(start: str, direct: Mapping[str, frozenset[str]]) -> frozenset[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        fresh = direct.get(ahead.pop(), frozenset()) - reached
        reached |= fresh
        ahead.extend(fresh)
    return frozenset(reached - {start})


def _folded(text: str) -> str:
    return text.strip().upper().replace(" ", "_")
