"""The effects of DataHub's privileges: what each opens and guards (the table `datahub_effects`).

A write is judged by the parts of a document that it changes, a read by the documents that it returns.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Self

from policies.engine.families import document_parts, vocabulary
from policies.engine.requirements import SELF, Need, Quantifier

#: The privilege that suffices for every edit.
EDIT_ENTITY = "EDIT_ENTITY"
#: Relatives that an entity names itself: the assets that it is about. The privilege is needed on each of them.
ABOUT = "about"
#: The relative of a column: its dataset.
DATASET = "dataset"

#: The whole document, among its parts.
WHOLE = ""


@dataclass(frozen=True, slots=True)
class EditEffect:
    """A privilege that lets change a part of a document (WHOLE: all of it) of entities of these types (None: any)."""

    privilege: str
    part: str
    types: frozenset[str] | None
    relative: str

    @property
    def need(self) -> Need:
        """The need of the privilege, on the entity or its relative."""
        return Need((self.privilege,), self.relative)


@dataclass(frozen=True, slots=True)
class ManagerEffect:
    """A privilege that lets create and delete whole entities of these types, and write these documents of them."""

    privilege: str
    types: frozenset[str]
    relative: str
    aspects: frozenset[str]
    may_create: bool
    may_delete: bool

    @property
    def need(self) -> Need:
        """The need of the privilege, on the relative; on each of those that the entity is about."""
        if self.relative != ABOUT:
            return Need((self.privilege,), self.relative)
        privileges = (self.privilege, EDIT_ENTITY) if self.privilege != "EXECUTE_ENTITY" else (self.privilege,)
        return Need(privileges, ABOUT, Quantifier.EACH)


@dataclass(frozen=True, slots=True)
class ViewEffect:
    """A privilege without which nobody reads these documents of entities of these types."""

    privilege: str
    aspects: frozenset[str]
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class PrivilegeEffects:
    """The table. `subjects` are, by type, the aspect and the paths that say what an entity is about."""

    edits: Mapping[str, tuple[EditEffect, ...]]
    managers: tuple[ManagerEffect, ...]
    views: tuple[ViewEffect, ...]
    call_privileges: Mapping[str, str]
    subjects: Mapping[str, tuple[str, tuple[str, ...]]]
    stamps: Mapping[str, tuple[str, ...]]
    own_rules: Mapping[str, str]
    other_products: Mapping[str, str]

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """Build the effects from the entries of the table."""
        edits: dict[str, list[EditEffect]] = {}
        for entry in table["edit"]:
            types = frozenset(entry["types"]) if "types" in entry else None
            for aspect in entry["aspects"]:
                edits.setdefault(aspect, []).extend(
                    EditEffect(entry["privilege"], part, types, entry.get("on", SELF))
                    for part in entry.get("parts", (WHOLE,))
                )
        return cls(
            edits=MappingProxyType({aspect: tuple(effects) for aspect, effects in edits.items()}),
            managers=tuple(
                ManagerEffect(
                    entry["privilege"],
                    frozenset(entry["types"]),
                    entry.get("on", SELF),
                    frozenset(entry.get("aspects", ())),
                    entry.get("creates", False),
                    entry.get("deletes", False),
                )
                for entry in table["manager"]
            ),
            views=tuple(
                ViewEffect(entry["privilege"], frozenset(entry["aspects"]), frozenset(entry["types"]))
                for entry in table["view"]
            ),
            call_privileges=MappingProxyType({entry["call"]: entry["privilege"] for entry in table["call"]}),
            subjects=MappingProxyType(
                {entry["type"]: (entry["aspect"], tuple(entry["paths"])) for entry in table["subject"]}
            ),
            stamps=MappingProxyType(
                {aspect: tuple(entry["keys"]) for entry in table["stamp"] for aspect in entry["aspects"]}
            ),
            own_rules=_map_privileges(table["opens"], "what"),
            other_products=_map_privileges(table["elsewhere"], "by"),
        )

    @property
    def guarded_aspects(self) -> frozenset[str]:
        """The documents that a privilege of their own guards."""
        return frozenset[str]().union(*(view.aspects for view in self.views))

    @property
    def listed_privileges(self) -> frozenset[str]:
        """Every privilege that the table says something about."""
        edit_privileges = (effect.privilege for effects in self.edits.values() for effect in effects)
        return frozenset(
            (
                *edit_privileges,
                *(manager.privilege for manager in self.managers),
                *(view.privilege for view in self.views),
                *self.call_privileges.values(),
                *self.own_rules,
                *self.other_products,
            )
        )

    def diff_parts(self, aspect: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parts that differ between two documents; WHOLE if the table tells none of them apart."""
        parts = {effect.part for effect in self.edits.get(aspect, ())} - {WHOLE}
        if not parts:
            return (WHOLE,)
        return document_parts.diff_parts(old, new, parts=parts, stamps=self.stamps.get(aspect, ()))

    def list_edit_needs(self, type_: str, aspect: str, part: str | None) -> tuple[Need, ...]:
        """Return the needs each of which lets change a part of a document, EDIT_ENTITY left out.

        None stands for a write that changes nothing: what lets change any part suffices.
        """
        needs = (
            effect.need
            for effect in self.edits.get(aspect, ())
            if (effect.types is None or type_ in effect.types) and part in (effect.part, None)
        )
        whole_needs = self.list_edit_needs(type_, aspect, WHOLE) if part else ()
        return tuple(dict.fromkeys((*needs, *whole_needs)))

    def list_creators(self, type_: str) -> tuple[Need, ...]:
        """Return the needs each of which lets create an entity of a type, CREATE_ENTITY left out."""
        return tuple(manager.need for manager in self.managers if type_ in manager.types and manager.may_create)

    def list_deleters(self, type_: str) -> tuple[Need, ...]:
        """Return the needs each of which lets delete an entity of a type, DELETE_ENTITY left out."""
        return tuple(manager.need for manager in self.managers if type_ in manager.types and manager.may_delete)

    def list_managers(self, type_: str, aspect: str) -> tuple[Need, ...]:
        """Return the needs each of which lets write a whole document of an entity of a type."""
        return tuple(manager.need for manager in self.managers if type_ in manager.types and aspect in manager.aspects)

    def read_subjects(self, type_: str, document: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the URNs of the assets that a document says its entity is about."""
        _, paths = self.subjects[type_]
        return tuple(dict.fromkeys(urn for path in paths for urn in document_parts.list_values(document, path)))

    def find_view_privilege(self, type_: str, aspect: str) -> str | None:
        """Return the privilege that guards reading a document of an entity of a type, None if none does."""
        return next((view.privilege for view in self.views if type_ in view.types and aspect in view.aspects), None)


@cache
def load_effects() -> PrivilegeEffects:
    """Return the effects of DataHub's privileges."""
    return PrivilegeEffects.from_table(vocabulary.read_table("datahub_effects"))


def _map_privileges(entries: Iterable[Mapping[str, Any]], key: str) -> Mapping[str, str]:
    return MappingProxyType({privilege: entry[key] for entry in entries for privilege in _read_privileges(entry)})


def _read_privileges(entry: Mapping[str, Any]) -> Collection[str]:
    privileges: Collection[str] = entry["privileges"]
    return privileges
