"""A DataHub document while it is being written: what one step of the builder posted is put into it.

Whatever a step does not show stays as it was: unknown keys, the order of keys and values, and the difference between a
field that is absent, null and empty. The draft travels with the form, signed, so that nothing is lost between steps.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from django.core import signing
from django.http import QueryDict

from policies.authoring.pages import property_wording
from policies.authoring.pages.datahub_wording import criteria_of
from policies.engine.errors import Problem
from policies.engine.families import datahub, datahub_fields
from policies.engine.selectors import Condition

#: How many lines one paste may have.
MOST = 5_000

#: How many conditions of one list a form shows; further ones stay as they are.
CRITERIA_SHOWN = 60

#: The two lists of criteria: prefix of the names of their fields, and the key of their block.
LISTS = {"c": "filter", "s": datahub_fields.CONSTRAINTS}
#: The one whose criteria may be about properties.
_WITH_PROPERTIES = ("c",)

_SALT = "policies.builder"
_OLDER = ("type", "resources", "allResources")
_FLAGS = ("allUsers", "allGroups", "resourceOwners")
_ACTORS = ("users", "groups", "roles")


@dataclass(slots=True)
class Draft:
    """A document being written.

    `aside` is a block of resources that was switched off and may be switched on again. `typed` are texts that could
    not be taken over, by the name of their field, and `problems` why not.
    """

    document: dict[str, Any]
    aside: dict[str, Any] | None = None
    typed: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return a draft that begins with a document."""
        return cls(deepcopy(dict(document)))

    @classmethod
    def signed(cls, text: str) -> Self | None:
        """Return the draft that came back with a form; None when it is not one that was given out."""
        try:
            kept = signing.loads(text, salt=_SALT)
        except signing.BadSignature:
            return None
        return cls(kept["document"], kept["aside"])

    def sealed(self) -> str:
        """Return the text that carries the draft in a form."""
        return signing.dumps({"document": self.document, "aside": self.aside}, salt=_SALT, compress=True)

    @property
    def block(self) -> dict[str, Any] | None:
        """The block of resources."""
        found: dict[str, Any] | None = self.document.get("resources")
        return found

    @property
    def is_deprecated(self) -> bool:
        """Whether the deprecated fields say what the policy covers."""
        block = self.block
        return block is not None and block.get("filter") is None and any(block.get(key) is not None for key in _OLDER)

    def criteria(self, prefix: str) -> list[dict[str, Any]]:
        """Return one of the two lists of criteria."""
        return list(((self.block or {}).get(LISTS[prefix]) or {}).get("criteria") or ())

    # -- what the steps post ----------------------------------------------------------------------------------------

    def take(self, data: QueryDict) -> None:
        """Put the fields of the step that was posted into the document."""
        steps = {"1": self._take_head, "2": self._take_resources, "3": self._take_actors}
        take = steps.get(data.get("step", ""))
        if take is not None:
            take(data)

    def add(self, prefix: str, name: str) -> None:
        """Add a condition on a field; an unknown field adds nothing."""
        is_property = name in property_wording.PARTIES and prefix in _WITH_PROPERTIES
        if not (name in datahub.FIELDS or is_property) or prefix not in LISTS:
            return
        if self.block is None:
            self.document["resources"] = {}
        block: dict[str, Any] = self.document["resources"]
        if block.get(LISTS[prefix]) is None:
            block[LISTS[prefix]] = {}
        match = block[LISTS[prefix]]
        fresh = {"field": name, "condition": Condition.EQUALS.value, "values": []}
        match["criteria"] = [*(match.get("criteria") or ()), fresh]

    def remove(self, prefix: str, place: str) -> None:
        """Take a condition out."""
        listed = self.criteria(prefix) if prefix in LISTS else []
        if place.isdecimal() and len(place) < 6 and int(place) < len(listed):
            del listed[int(place)]
            self.document["resources"][LISTS[prefix]]["criteria"] = listed

    def drop(self, pointer: str) -> None:
        """Take out a field that is unknown here; a pointer to any other field, or to nothing, changes nothing."""
        if pointer not in {one.pointer for one in datahub_fields.list_unknown(self.document)}:
            return
        *steps, name = pointer[1:].split("/")
        place: Any = self.document
        for step in steps:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place.pop(name.replace("~1", "/").replace("~0", "~"), None)

    def convert(self) -> None:
        """Say with a filter what the deprecated fields say."""
        if not self.is_deprecated or self.block is None:
            return
        criteria = [{**one, "condition": Condition.EQUALS.value} for one in criteria_of(self.document)]
        rest = {key: value for key, value in self.block.items() if key not in (*_OLDER, "filter")}
        self.document["resources"] = {"filter": {"criteria": criteria}, **rest}

    def _take_head(self, data: QueryDict) -> None:
        for key, name in (("displayName", "name"), ("description", "description")):
            _put_text(self.document, key, data.get(name, ""))
        for key in ("type", "state"):
            if data.get(key):
                self.document[key] = data[key]
        _put_flag(self.document, "editable", is_on="editable" in data, default=True)

    def _take_resources(self, data: QueryDict) -> None:
        listed = self.document.get("privileges") or []
        self.document["privileges"] = merged(listed, data.getlist("privileges"))
        self._take_scope(data)
        if self.block is not None:
            for prefix in LISTS:
                for place, criterion in enumerate(self.criteria(prefix)[:CRITERIA_SHOWN]):
                    self._take_criterion(
                        criterion, f"{prefix}{place}", f"/resources/{LISTS[prefix]}/criteria/{place}", data
                    )
            self._take_constraints(data)

    def _take_scope(self, data: QueryDict) -> None:
        match data.get("scope"):
            case "some" if self.block is None:
                self.document["resources"] = self.aside or {"filter": {"criteria": []}}
                self.aside = None
            case "any" if self.block is not None:
                self.aside = self.document.pop("resources")

    def _take_constraints(self, data: QueryDict) -> None:
        block: dict[str, Any] = self.document["resources"]
        match data.get("s_scope"):
            case "some" if block.get(datahub_fields.CONSTRAINTS) is None:
                block[datahub_fields.CONSTRAINTS] = {"criteria": []}
            case "any" if block.get(datahub_fields.CONSTRAINTS) is not None:
                del block[datahub_fields.CONSTRAINTS]

    def _take_criterion(self, criterion: dict[str, Any], name: str, pointer: str, data: QueryDict) -> None:
        if f"{name}_at" not in data:
            return
        condition = data.get(f"{name}_condition", "")
        if condition in tuple(Condition) and condition != (criterion.get("condition") or Condition.EQUALS):
            criterion["condition"] = condition
        start, _ = property_wording.split(criterion["field"])
        if start and f"{name}_name" in data:
            criterion["field"] = f"{start}{data.get(f'{name}_name', '').strip()}"
        criterion["values"] = self._values(criterion.get("values") or [], f"{name}_values", f"{pointer}/values", data)

    def _take_actors(self, data: QueryDict) -> None:
        actors: dict[str, Any] = self.document.setdefault("actors", {})
        for key in _FLAGS:
            _put_flag(actors, key, is_on=key in data, default=False)
        for key in _ACTORS:
            found = self._values(actors.get(key) or [], key, f"/actors/{key}", data)
            if found or key in actors:
                actors[key] = found if found or actors.get(key) is not None else None
        types = actors.get("resourceOwnersTypes")
        if data.get("owner_types") == "some":
            pointer = "/actors/resourceOwnersTypes"
            actors["resourceOwnersTypes"] = self._values(types or [], "resourceOwnersTypes", pointer, data)
        elif types is not None:
            actors["resourceOwnersTypes"] = None

    def _values(self, before: list[str], name: str, pointer: str, data: QueryDict) -> list[str]:
        """Return the values of a picker: ticked ones, kept ones (by their place) and pasted lines."""
        text = data.get(f"{name}_pasted", "")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if len(lines) > max(MOST, len(before)):
            self.typed[name] = text
            detail = f"At most {MOST:,} lines at once, not {len(lines):,}. Nothing of them was taken over yet."
            self.problems.append(Problem("values.many", pointer, detail))
            pasted = set(lines)
            lines = [value for value in before if value in pasted]
        kept = [before[int(at)] for at in data.getlist(f"{name}_kept") if at.isdecimal() and int(at[:9]) < len(before)]
        return merged(before, [*data.getlist(name), *kept, *lines])


def merged(before: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Return what stays of a list, in its order, and behind it what is new."""
    wanted = dict.fromkeys(wanted)
    present = set(before)
    return [one for one in before if one in wanted] + [one for one in wanted if one not in present]


def is_line(value: str) -> bool:
    """Whether a value survives as a line of a text box."""
    return bool(value) and value == value.strip() and value.splitlines() == [value]


def _put_text(document: dict[str, Any], key: str, text: str) -> None:
    # Browsers send line ends their own way; that is no change.
    text = text.replace("\r\n", "\n")
    before = document.get(key)
    if text != (before or "").replace("\r\n", "\n"):
        document[key] = text


def _put_flag(document: dict[str, Any], key: str, *, is_on: bool, default: bool) -> None:
    before = document.get(key)
    if is_on != (default if before is None else before):
        document[key] = is_on
