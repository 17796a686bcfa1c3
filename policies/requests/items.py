"""The items of a request: what is asked for, read from JSON with every problem and its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from policies.engine.errors import InvalidPolicy, Problem, quote
from policies.engine.families import datahub
from policies.engine.families.document_reader import DocumentReader, JsonValue
from policies.engine.model import StatementOrigin
from policies.engine.selectors import Selector
from policies.models.people import GROUP_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import known_privileges

#: Most items of one request.
MAX_ITEMS = 20
#: Most privileges of one item.
_MAX_PRIVILEGES = 50

EXTERNAL_ROLE_PREFIX = "urn:li:role:"
URN_PREFIX = "urn:li:"


class ItemKind(StrEnum):
    """The kinds of items, by the key of the document that tells them apart."""

    PRIVILEGE = "privilege"
    ANY_OF = "any_of"
    ROLE = "role"
    GROUP = "group"
    EXTERNAL_ROLE = "external_role"
    SCOPE = "privileges"
    POLICY = "policy"


_TARGET_PREFIXES = {
    ItemKind.ROLE: ROLE_PREFIX,
    ItemKind.GROUP: GROUP_PREFIX,
    ItemKind.EXTERNAL_ROLE: EXTERNAL_ROLE_PREFIX,
    ItemKind.POLICY: POLICY_PREFIX,
}

_FIELDS = {
    ItemKind.PRIVILEGE: ("privilege", "resource"),
    ItemKind.ANY_OF: ("any_of", "resource"),
    ItemKind.SCOPE: ("privileges", "scope"),
}


@dataclass(frozen=True, slots=True)
class RequestedItem:
    """One item: `document` as it was sent.

    `alternatives` are lists of privileges, one of which is asked for; `entity` is the resource, empty for the platform;
    `target` is the role, group, external role or policy; `scope` selects the entities of privileges on a scope.
    """

    kind: ItemKind
    document: Mapping[str, Any]
    alternatives: tuple[tuple[str, ...], ...] = ()
    entity: str = ""
    target: str = ""
    scope: Selector | None = None

    @property
    def privileges(self) -> frozenset[str]:
        """Every privilege that the item names."""
        return frozenset[str]().union(*self.alternatives)

    @property
    def owned(self) -> str:
        """The URN whose owners may speak for the item: of the entity, group, external role or policy; may be empty."""
        return self.entity or self.target


def read_items(reader: DocumentReader, value: JsonValue) -> list[RequestedItem]:
    """Return the items of a request; the reader gets every problem, with pointers that begin at `/items`."""
    documents = reader.read_items(value, "/items", limit=MAX_ITEMS)
    if not documents and not reader.problems:
        reader.note("required", "/items", "Name at least one item: a privilege, role, group or policy.")
    items = [_read_item(reader, document, f"/items/{index}") for index, document in enumerate(documents)]
    return [item for item in items if item is not None]


def load_item(document: Mapping[str, Any]) -> RequestedItem:
    """Return the item of a stored document. Raises InvalidPolicy if it cannot be read any more."""
    reader = DocumentReader()
    item = _read_item(reader, document, "")
    reader.raise_problems()
    if item is None:
        raise InvalidPolicy([Problem("item.unknown", "", "This item cannot be read.")])
    return item


def _read_item(reader: DocumentReader, value: JsonValue, pointer: str) -> RequestedItem | None:
    document = reader.read_mapping(value, pointer)
    kinds = [kind for kind in ItemKind if kind in document]
    if len(kinds) != 1:
        if isinstance(value, dict):
            names = ", ".join(ItemKind)
            reader.note("item.one", pointer, f"An item names one thing: one of {names}.")
        return None
    kind = kinds[0]
    reader.check_keys(document, _FIELDS.get(kind, (kind.value,)), pointer)
    if kind in _TARGET_PREFIXES:
        target = _read_urn(reader, document[kind], f"{pointer}/{kind}", _TARGET_PREFIXES[kind])
        return RequestedItem(kind, document, target=target)
    if kind is ItemKind.SCOPE:
        privileges = _read_privileges(reader, document[kind], f"{pointer}/privileges")
        scope = compile_filter(reader, document.get("scope"), f"{pointer}/scope")
        return RequestedItem(kind, document, (privileges,), scope=scope)
    alternatives: tuple[tuple[str, ...], ...]
    if kind is ItemKind.PRIVILEGE:
        alternatives = (_read_privileges(reader, [document[kind]], f"{pointer}/privilege", is_list=False),)
    else:
        lists = reader.read_items(document[kind], f"{pointer}/any_of", limit=_MAX_PRIVILEGES)
        if not lists:
            reader.note("required", f"{pointer}/any_of", "Name at least one list of privileges.")
        alternatives = tuple(
            _read_privileges(reader, names, f"{pointer}/any_of/{index}") for index, names in enumerate(lists)
        )
    return RequestedItem(kind, document, alternatives, entity=_read_entity(reader, document, pointer))


def _read_entity(reader: DocumentReader, document: Mapping[str, Any], pointer: str) -> str:
    resource = document.get("resource")
    if resource is None:
        return ""
    members = reader.read_mapping(resource, f"{pointer}/resource")
    reader.check_keys(members, ("urn",), f"{pointer}/resource")
    return _read_urn(reader, members.get("urn"), f"{pointer}/resource/urn", URN_PREFIX) if members else ""


def _read_urn(reader: DocumentReader, value: JsonValue, pointer: str, prefix: str) -> str:
    problem_count = len(reader.problems)
    urn = reader.read_text(value, pointer, is_required=True)
    if len(reader.problems) == problem_count and not (urn.startswith(prefix) and urn != prefix and urn.isprintable()):
        reader.note("urn.type", pointer, f"{quote(urn)} is not a URN that begins with {prefix}.")
    return urn


def _read_privileges(
    reader: DocumentReader, value: JsonValue, pointer: str, *, is_list: bool = True
) -> tuple[str, ...]:
    names = reader.read_items(value, pointer, limit=_MAX_PRIVILEGES)
    if is_list and not names:
        reader.note("required", pointer, "Name at least one privilege.")
    for index, name in enumerate(names):
        item_pointer = f"{pointer}/{index}" if is_list else pointer
        text = reader.read_text(name, item_pointer, is_required=True)
        if text and not known_privileges.is_known(text):
            similar = known_privileges.suggest_names(text)
            hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
            reader.note("privilege.unknown", item_pointer, f"There is no privilege {quote(text)}.{hint}")
    return tuple(name for name in names if isinstance(name, str))


def compile_filter(reader: DocumentReader, value: JsonValue, pointer: str) -> Selector | None:
    """Return the selector of a policy's filter `{"filter": …}` or `{"criteria": …}`; None after noting its problems."""
    resources = {"filter": value} if isinstance(value, dict) and "criteria" in value else value
    document: dict[str, Any] = {
        "displayName": "scope",
        "type": datahub.METADATA,
        "state": datahub.ACTIVE,
        "actors": {"allUsers": True},
        "privileges": [],
        "resources": resources,
    }
    try:
        datahub.parse(document)
    except InvalidPolicy as error:
        for problem in error.problems:
            item_pointer = problem.pointer.removeprefix("/resources")
            reader.add(Problem(problem.code, f"{pointer}{item_pointer}", problem.detail))
        return None
    (statement,) = datahub.compile(document, StatementOrigin("", ""))
    return statement.resources


def list_entities(items: Sequence[RequestedItem]) -> list[str]:
    """Return the URNs of what items are about, each once."""
    return list(dict.fromkeys(item.owned for item in items if item.owned))
