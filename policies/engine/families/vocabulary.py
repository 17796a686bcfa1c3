"""Vocabularies of privileges: names, descriptions, implications, and the privileges that a policy builder offers.

The tables are in `policies/engine/tables/`; this module only reads and groups them. Names are compared exactly.
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

#: Longest name, in characters, for which similar names are suggested.
MAX_SUGGESTION_LENGTH = 255

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class PrivilegeInfo:
    """One privilege of a vocabulary.

    `scope` is `platform` (asked without a resource) or `metadata`. `resource_types` are the types of entities it can be
    used on, None meaning every type; `offered_for` those for which a policy builder offers it. `umbrella` is the
    broader privilege that callers accept in its place ('' for none).
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
    umbrella: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The privileges of one family, in the order of its table, with its resource types (type -> display name)."""

    privileges: Mapping[str, PrivilegeInfo]
    resource_types: Mapping[str, str]
    implications: Mapping[str, frozenset[str]]
    reverse_implications: Mapping[str, frozenset[str]]

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Build a vocabulary from a table with `resource_type`, `privilege` and `implication` entries.

        Raises ValueError for a duplicate name, or an implication of a privilege that is not in the table.
        """
        types = _map_unique((entry["type"], entry["display"]) for entry in table["resource_type"])
        privileges = _map_unique((entry["name"], _parse_privilege(entry, types)) for entry in table["privilege"])
        direct_implications = _map_unique(
            (entry["privilege"], frozenset(entry["gives"])) for entry in table["implication"]
        )
        if (
            unknown_names := frozenset[str]().union(direct_implications, *direct_implications.values())
            - privileges.keys()
        ):
            raise ValueError(f"Implications name unknown privileges: {', '.join(sorted(unknown_names))}")
        if unknown_umbrellas := {info.umbrella for info in privileges.values()} - privileges.keys() - {""}:
            raise ValueError(f"Unknown privileges are umbrellas: {', '.join(sorted(unknown_umbrellas))}")
        implications = {name: _compute_closure(name, direct_implications) for name in direct_implications}
        reverse_implications = {
            implied_name: frozenset(
                name for name, implied_names in implications.items() if implied_name in implied_names
            )
            for implied_name in frozenset[str]().union(*implications.values())
        }
        return cls(privileges, types, MappingProxyType(implications), MappingProxyType(reverse_implications))

    def get(self, name: str) -> PrivilegeInfo | None:
        """Return the privilege of this name, or None."""
        return self.privileges.get(name)

    @property
    def names(self) -> frozenset[str]:
        """Every name."""
        return frozenset(self.privileges)

    def platform_privileges(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges of platform policies, in the order of the table."""
        return tuple(privilege for privilege in self.privileges.values() if privilege.scope == PLATFORM)

    def metadata_privileges(self) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges of metadata policies, in the order of the table."""
        return tuple(privilege for privilege in self.privileges.values() if privilege.scope == METADATA)

    def list_offered_privileges(self, types: Collection[str]) -> tuple[PrivilegeInfo, ...]:
        """Return the privileges offered for a policy about these resource types, in the order of the table.

        A privilege is offered if it is for at least one of the types. A policy without types is about all of them. An
        unknown type adds nothing.
        """
        requested_types = frozenset(types) or frozenset(self.resource_types)
        return tuple(privilege for privilege in self.privileges.values() if privilege.offered_for & requested_types)

    def suggest(self, name: str) -> tuple[str, ...]:
        """Return up to three names similar to an unknown name, best first; none for a known name.

        Display names count too, in any case: for "Edit Domain" EDIT_DOMAINS_PRIVILEGE is suggested.
        """
        if name in self.privileges or len(name) > MAX_SUGGESTION_LENGTH:
            return ()
        spellings: dict[str, list[str]] = {}
        for privilege in self.privileges.values():
            for spelling in {_fold(privilege.name), _fold(privilege.display)}:
                spellings.setdefault(spelling, []).append(privilege.name)
        close_spellings = difflib.get_close_matches(_fold(name), spellings, n=6)
        return tuple(
            dict.fromkeys(privilege_name for spelling in close_spellings for privilege_name in spellings[spelling])
        )[:3]

    def implying_privileges(self, name: str) -> frozenset[str]:
        """Return the other privileges that imply this one; none for an unknown name."""
        return self.reverse_implications.get(name, frozenset())

    def is_umbrella_pair(self, privilege: str, other_privilege: str) -> bool:
        """Whether one of two privileges is the umbrella of the other."""
        info, other_info = self.get(privilege), self.get(other_privilege)
        return bool(info and other_info and (info.umbrella == other_info.name or other_info.umbrella == info.name))

    def widen(self, privileges: Iterable[str]) -> frozenset[str]:
        """Return these privileges and everything they imply. Unknown names are kept and imply nothing."""
        names = frozenset(privileges)
        return names.union(*(self.implications[name] for name in names & self.implications.keys()))


@cache
def load_datahub() -> Vocabulary:
    """Return the vocabulary of DataHub policies."""
    return Vocabulary.from_table(read_table("datahub_privileges"))


def read_table(name: str) -> dict[str, Any]:
    """Return the table `policies/engine/tables/<name>.toml`; raises FileNotFoundError if there is none."""
    text = (resources.files("policies.engine.tables") / f"{name}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _parse_privilege(entry: Mapping[str, Any], types: Mapping[str, str]) -> PrivilegeInfo:
    default_types = types if entry["scope"] == METADATA else ()
    return PrivilegeInfo(
        name=entry["name"],
        display=entry["display"],
        description=entry["description"],
        scope=entry["scope"],
        category=entry["category"],
        resource_types=frozenset(entry["resource_types"]) if "resource_types" in entry else None,
        offered_for=frozenset(entry.get("offered_for", default_types)),
        is_cloud_only=entry.get("cloud_only", False),
        is_deprecated=entry.get("deprecated", False),
        is_rest_only=entry.get("rest_api_only", False),
        is_ours=entry.get("ours", False),
        umbrella=entry.get("umbrella", ""),
    )


def _map_unique(pairs: Iterable[tuple[str, Value]]) -> Mapping[str, Value]:
    mapping: dict[str, Value] = {}
    for name, value in pairs:
        if name in mapping:
            raise ValueError(f"{name} stands in the table twice")
        mapping[name] = value
    return MappingProxyType(mapping)


def _compute_closure(start: str, direct_implications: Mapping[str, frozenset[str]]) -> frozenset[str]:
    reachable_names: set[str] = set()
    pending_names = [start]
    while pending_names:
        new_names = direct_implications.get(pending_names.pop(), frozenset()) - reachable_names
        reachable_names |= new_names
        pending_names.extend(new_names)
    return frozenset(reachable_names - {start})


def _fold(text: str) -> str:
    return text.strip().upper().replace(" ", "_")
