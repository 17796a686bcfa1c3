"""What the steps of the builder draw: pickers, conditions with their trees, and the privileges on offer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import QueryDict
from django.urls import reverse

from policies.authoring.pages import property_wording
from policies.authoring.pages.datahub_draft import CRITERIA_SHOWN, LISTS, Draft, is_line
from policies.authoring.pages.datahub_presenter import FIELDS, OWN, OWN_USE, label_of
from policies.authoring.pages.datahub_wording import criteria_of
from policies.engine.errors import Problem
from policies.engine.families import datahub, vocabulary
from policies.engine.families.vocabulary import PrivilegeInfo
from policies.engine.selectors import Condition
from policies.pdp import authorizer

#: How many chips one picker shows, and all of a step together; further values stand in the text box.
_CHIPS, _ALL_CHIPS = 25, 400

#: How many notes of one kind stand beside a field.
_NOTES = 5

#: How many branches of a tree are shown, and how many of its nodes can be open without scripts.
BRANCHES = 200
_OPEN = 30

#: Field → types of entities that it holds; no types: any.
TYPES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "URN": (),
        "DOMAIN": ("domain",),
        "CONTAINER": ("container",),
        "TAG": ("tag",),
        "GLOSSARY": ("glossaryNode", "glossaryTerm"),
        "DATA_PLATFORM_INSTANCE": ("dataPlatformInstance",),
        "resourceOwnersTypes": ("ownershipType",),
    }
)
#: Fields whose values lie in one another.
TREES = ("DOMAIN", "CONTAINER", "GLOSSARY")
_PEOPLE = {"OWNER": "holder", "GROUP_MEMBERSHIP": "group", "users": "user", "groups": "group", "roles": "role"}

_CONDITIONS = (
    (Condition.EQUALS, "is one of"),
    (Condition.STARTS_WITH, "begins with one of"),
    (Condition.NOT_EQUALS, "is none of"),
)


@dataclass(frozen=True, slots=True)
class Notes:
    """What is wrong (errors) and what is worth a look (lints), to be asked for by place in the document."""

    errors: Sequence[Problem]
    lints: Sequence[Problem]

    def at(self, *pointers: str) -> dict[str, list[str]]:
        """Return the sentences that belong to these places and whatever is in them, the first few."""
        return {"errors": _first(self.errors, pointers), "lints": _first(self.lints, pointers)}


def _first(problems: Iterable[Problem], pointers: Sequence[str]) -> list[str]:
    mine = [one.detail for one in problems if any(f"{one.pointer}/".startswith(f"{at}/") for at in pointers)]
    details = list(dict.fromkeys(mine))
    more = [f"And {len(details) - _NOTES:,} more like these."] if len(details) > _NOTES else []
    return details[:_NOTES] + more


@dataclass(frozen=True, slots=True)
class Fields:
    """Draws the fields of one draft."""

    draft: Draft
    notes: Notes
    data: QueryDict

    # -- step 2 -----------------------------------------------------------------------------------------------------

    def criteria(self, prefix: str) -> list[dict[str, Any]]:
        """Return the conditions of one of the two lists, as cards."""
        listed = self.draft.criteria(prefix)[:CRITERIA_SHOWN]
        chips = min(_CHIPS, _ALL_CHIPS // max(len(listed), 1))
        names = self._names(value for one in listed for value in (one.get("values") or ())[:chips])
        return [self._criterion(prefix, place, one, chips, names) for place, one in enumerate(listed)]

    def hidden(self, prefix: str) -> int:
        """Return how many conditions stay as they are because the form has no room for them."""
        return max(len(self.draft.criteria(prefix)) - CRITERIA_SHOWN, 0)

    def deprecated(self) -> list[dict[str, Any]]:
        """Return what the deprecated fields mean, as rows."""
        if not self.draft.is_deprecated:
            return []
        listed = criteria_of(self.draft.document)
        names = self._names(value for one in listed for value in one["values"][:_CHIPS])
        return [
            {
                "label": FIELDS[one["field"]],
                "shown": [{"urn": value, "name": names.get(value, "")} for value in one["values"][:_CHIPS]],
                "more": max(len(one["values"]) - _CHIPS, 0),
            }
            for one in listed
        ]

    def privileges(self, find: str) -> list[dict[str, Any]]:
        """Return the privileges on offer and those that are ticked, by category; `find` narrows those not ticked."""
        ticked = dict.fromkeys(self.draft.document.get("privileges") or ())
        known = vocabulary.datahub()
        offered = {one.name: one for one in self._offered()}
        listed = list(offered.values()) + [known.get(name) or name for name in ticked if name not in offered]
        groups: dict[str, list[dict[str, Any]]] = {}
        if own := [_own(name, name in ticked) for name in _custom() if name in ticked or _is_found(name, find)]:
            groups[OWN] = own
        for one in listed:
            if isinstance(one, str) and one in _custom():
                continue
            if isinstance(one, str):
                row = {
                    "name": one,
                    "display": one,
                    "description": "Nothing asks for it.",
                    "notes": ["Not in the registry"],
                }
                groups.setdefault("Not in the registry", []).append({**row, "is_ticked": True})
            elif one.name in ticked or _is_meant(one, find):
                groups.setdefault(one.category, []).append(_privilege(one, one.name in ticked, one.name in offered))
        return [
            {
                "category": category,
                "members": members,
                "ticked": sum(member["is_ticked"] for member in members),
                "is_open": bool(find) or any(member["is_ticked"] for member in members),
            }
            for category, members in groups.items()
        ]

    def _offered(self) -> tuple[PrivilegeInfo, ...]:
        known = vocabulary.datahub()
        if self.draft.document.get("type") == datahub.PLATFORM:
            return known.platform()
        return known.for_types(self._types())

    def _types(self) -> frozenset[str]:
        """Return the types that the policy is about; none when it is about all of them."""
        found: frozenset[str] | None = None
        for one in criteria_of(self.draft.document):
            is_equals = (one.get("condition") or Condition.EQUALS) == Condition.EQUALS
            if one.get("field") in ("TYPE", "RESOURCE_TYPE") and is_equals and one.get("values"):
                values = frozenset(one["values"])
                found = values if found is None else found & values
        return found or frozenset()

    def _criterion(
        self, prefix: str, place: int, criterion: Mapping[str, Any], chips: int, names: Mapping[str, str]
    ) -> dict[str, Any]:
        key = f"{prefix}{place}"
        field, condition = criterion["field"], criterion.get("condition") or Condition.EQUALS.value
        pointer = f"/resources/{LISTS[prefix]}/criteria/{place}"
        values, newer = list(criterion.get("values") or ()), field.removeprefix("RESOURCE_")
        label = label_of(field)
        notes = self.notes.at(pointer)
        card = {
            "key": key,
            "label": label,
            "is_older": newer != field,
            "conditions": [(name.value, words, name == condition) for name, words in _CONDITIONS],
            "notes": {"lints": notes["lints"], "errors": notes["errors"]},
            "remove": f"remove:{prefix}:{place}",
        }
        start, name = property_wording.split(field)
        if start:
            return card | {"lines": self._lines(f"{key}_values", values, "values"), "property": {"name": name}}
        if condition == Condition.STARTS_WITH:
            return card | {"lines": self._lines(f"{key}_values", values, "beginnings")}
        if newer == "TYPE":
            return card | {"types": _types(values)}
        drawn = self._drawn(f"{key}_values", label, newer, values, names, chips=chips)
        return card | {"picker": drawn, "tree": self._tree(f"{key}_values", newer) if newer in TREES else None}

    def _lines(self, name: str, values: Sequence[str], what: str) -> dict[str, Any]:
        text = self.draft.typed.get(name, "\n".join(value for value in values if is_line(value)))
        return {"name": name, "text": text, "kept": _kept(values), "what": what}

    # -- step 3 -----------------------------------------------------------------------------------------------------

    def actors(self) -> dict[str, dict[str, Any]]:
        """Return the pickers of whom the policy is for."""
        actors = self.draft.document.get("actors") or {}
        labels = {"users": "Users", "groups": "Groups", "roles": "Roles", "resourceOwnersTypes": "Types of owners"}
        names = self._names(value for key in labels for value in (actors.get(key) or ())[:_CHIPS])
        return {
            key: self._drawn(key, label, key, list(actors.get(key) or ()), names, pointer=f"/actors/{key}")
            for key, label in labels.items()
        }

    # -- both -------------------------------------------------------------------------------------------------------

    def _drawn(
        self,
        name: str,
        label: str,
        kind: str,
        values: list[str],
        names: Mapping[str, str],
        *,
        chips: int = _CHIPS,
        pointer: str = "",
    ) -> dict[str, Any]:
        """Return what _picker.html draws: the first values as chips, the rest as lines, odd ones by their place."""
        plain = [value for value in values if is_line(value)]
        return {
            "name": name,
            "label": label,
            "chosen": [
                {"urn": value, "label": names.get(value, value), "type": _type_of(value)} for value in plain[:chips]
            ],
            "pasted": self.draft.typed.get(name, "\n".join(plain[chips:])),
            "kept": _kept(values),
            "search_url": _search_url(kind, name),
            "notes": self.notes.at(pointer) if pointer else None,
        }

    def _tree(self, name: str, field: str) -> dict[str, Any]:
        """Return the tree of a field with the nodes that were opened without scripts, one look-up for each of them."""
        opened = set(self.data.getlist(f"{name}_open")[-_OPEN:])
        go = self.data.get("go", "")
        if go.startswith(f"open:{name}:"):
            opened.add(go.removeprefix(f"open:{name}:"))
        roots = self._branches(name, field, "", opened, depth=0) if "" in opened else []
        return {
            "name": name,
            "field": field,
            "url": _branch_url(field, name),
            "branches": roots,
            "opened": sorted(opened),
        }

    def _branches(self, name: str, field: str, parent: str, opened: set[str], *, depth: int) -> list[dict[str, Any]]:
        return [
            {
                **branch,
                "branches": self._branches(name, field, branch["urn"], opened, depth=depth + 1)
                if branch["urn"] in opened and depth < _OPEN
                else [],
            }
            for branch in branches(field, parent, name)
        ]

    def _names(self, values: Iterable[str]) -> Mapping[str, str]:
        urns = {value for value in values if value.startswith("urn:")}
        return authorizer.names(urns=urns) if urns else {}


def branches(field: str, parent: str, name: str) -> list[dict[str, Any]]:
    """Return what lies directly in a node of a field's tree, as _branches.html draws it."""
    found = authorizer.directory().children(parent=parent, types=TYPES[field], limit=BRANCHES)
    return [
        {
            "urn": one.urn,
            "label": one.name or one.urn,
            "type": one.type,
            "is_parent": one.is_parent,
            "url": _branch_url(field, name, one.urn),
        }
        for one in found
    ]


def _branch_url(field: str, name: str, parent: str = "") -> str:
    return f"{reverse('policy-branches', args=[field])}?{urlencode({'name': name, 'parent': parent})}"


def _search_url(kind: str, name: str) -> str:
    if kind in _PEOPLE:
        return f"{reverse('people-options')}?{urlencode({'kind': _PEOPLE[kind], 'name': name})}"
    return f"{reverse('policy-options', args=[kind])}?{urlencode({'name': name})}"


def _types(values: Sequence[str]) -> list[dict[str, Any]]:
    known = vocabulary.datahub().resource_types
    listed = {**known, **{value: value for value in values}, **known}
    return [{"name": name, "label": label, "is_ticked": name in values} for name, label in listed.items()]


def _kept(values: Sequence[str]) -> list[dict[str, Any]]:
    return [{"place": place, "text": repr(value)} for place, value in enumerate(values) if not is_line(value)]


def _type_of(urn: str) -> str:
    parts = urn.split(":", 3)
    return parts[2] if len(parts) == 4 and urn.startswith("urn:li:") else ""


def _custom() -> list[str]:
    """Return the privileges that the settings name and the registry does not."""
    return [name for name in settings.CUSTOM_PRIVILEGES if vocabulary.datahub().get(name) is None]


def _own(name: str, is_ticked: bool) -> dict[str, Any]:  # noqa: FBT001
    return {"name": name, "display": name, "description": OWN_USE, "notes": [], "is_ticked": is_ticked}


def _is_found(text: str, find: str) -> bool:
    return all(word in text.casefold() for word in find.casefold().split())


def _is_meant(info: PrivilegeInfo, find: str) -> bool:
    return _is_found(f"{info.name} {info.display} {info.description} {info.category}", find)


def _privilege(info: PrivilegeInfo, is_ticked: bool, is_offered: bool) -> dict[str, Any]:  # noqa: FBT001
    footnotes = (
        (info.is_cloud_only, "DataHub Cloud"),
        (info.is_deprecated, "Deprecated"),
        (info.is_rest_only, "REST API only"),
        (not is_offered, "Not offered for these types"),
    )
    return {
        "name": info.name,
        "display": info.display,
        "description": info.description,
        "notes": [words for holds, words in footnotes if holds],
        "is_ticked": is_ticked,
    }
