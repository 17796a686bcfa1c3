"""Policies as files: written out exactly as they are stored, and read in again, all of them or none.

A file holds `{"policies": [entry, ...]}`; a list of entries, a single entry, and a bare DataHub document are read, too.
An entry is `{"urn", "family", "name", "description", "state", "document"}`, of which `document` alone is needed;
DataHub's own `{"urn", "info"}` is understood. A policy whose URN is stored is replaced, any other is new.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.authoring.services.policies import MANAGE, Draft, Write
from policies.engine import families
from policies.engine.errors import Problem, UnknownFamily
from policies.engine.families.document_reader import escape
from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Invalid, Stale
from policies.models import Gate, Policy, PolicyVersion, open_write
from policies.models.policy import POLICY_PREFIX
from policies.pdp import authorizer
from policies.writes import strict_json, unit_of_work

#: How many policies one file may hold.
MOST = 10_000
#: How many commas and opening brackets one file may hold: a hundred for each policy.
MAX_SIGNS = 1_000_000

_ENTRY_FIELDS = ("urn", "family", "name", "description", "state", "editable", "version", "document")
_BOOT_FIELDS = ("urn", "info")
_TEXTS = ("urn", "family", "name", "description", "state")


@dataclass(frozen=True, slots=True)
class Planned:
    """One policy of a file: what it would become, and the version it would replace (None: it is new).

    `is_same` says that it is stored exactly so.
    """

    urn: str | None
    name: str
    draft: Draft
    version: int | None
    is_same: bool


@dataclass(frozen=True, slots=True)
class Proposed:
    """One policy as it would be stored; a new one that names no URN has a made-up one."""

    urn: str
    family: str
    name: str
    document: Mapping[str, Any]
    is_active: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What reading a file in would do."""

    planned: tuple[Planned, ...]

    @property
    def created(self) -> list[Planned]:
        """The new ones."""
        return [one for one in self.planned if one.version is None]

    @property
    def replaced(self) -> list[Planned]:
        """Those that would get another document."""
        return [one for one in self.planned if one.version is not None and not one.is_same]

    @property
    def unchanged(self) -> list[Planned]:
        """Those that are stored exactly so; nothing is written for them."""
        return [one for one in self.planned if one.is_same]

    @property
    def fingerprint(self) -> str:
        """A short text that differs once the plan means something else, since somebody changed these policies."""
        return unit_of_work.fingerprint({"plan": [(one.urn, one.version, one.is_same) for one in self.planned]})


def exported(rows: Iterable[Policy]) -> dict[str, Any]:
    """Return policies as the content of a file."""
    return {"policies": [_entry(policy) for policy in rows]}


def write_proposal(*, draft: Draft, urn: str = "") -> str:
    """Return a draft as the text of a file with one policy; `urn` is the stored policy that it would replace."""
    entry = {"urn": urn or None, "family": draft.family, "state": draft.state, "document": draft.document}
    return json.dumps([{name: value for name, value in entry.items() if value is not None}], ensure_ascii=False)


def planned(*, body: bytes, by: Actor) -> Plan:
    """Read a file and return what it would do. Stores nothing.

    Raises Forbidden, or Invalid with every problem of every policy, each with its place in the file. Takes the same few
    queries for any number of policies.
    """
    authorizer.require(by=by, any_of=MANAGE)
    entries, place = _entries(strict_json.loads(body, what="The file", most=MAX_SIGNS))
    if not entries:
        raise Invalid.one(code="import.empty", pointer="", detail="There are no policies in this file.")
    if len(entries) > MOST:
        detail = f"A file holds up to {MOST:,} policies, not {len(entries):,}."
        raise Invalid.one(code="import.long", pointer="", detail=detail)
    reading = _Reading([(f"{place}/{index}" if place is not None else "", one) for index, one in enumerate(entries)])
    found = reading.planned(by)
    if reading.problems:
        raise Invalid(reading.problems)
    return Plan(tuple(found))


def proposed(value: Any) -> list[Proposed]:
    """Read policies as a file of them would be read, to ask what they would mean. Stores nothing.

    Raises Invalid with every problem. None at all is no problem here.
    """
    entries, place = _entries(value)
    reading = _Reading([(f"{place}/{index}" if place is not None else "", one) for index, one in enumerate(entries)])
    found = reading.planned(authorizer.SYSTEM)
    if reading.problems:
        raise Invalid(reading.problems)
    return [
        Proposed(
            urn=one.urn or f"{POLICY_PREFIX}proposed-{number}",
            family=one.draft.family,
            name=one.name,
            document=one.draft.document,
            is_active=one.draft.state in (None, Policy.State.ACTIVE),
        )
        for number, one in enumerate(found, start=1)
    ]


def store(*, body: bytes, seen: str, by: Actor, door: str) -> tuple[Plan, int]:
    """Do what a file says, all of it or nothing; return what was done and the version of all policies afterwards.

    Raises Stale when that is not what was `seen`, what `planned` raises, or Conflict when nobody could manage policies
    afterwards. Read behind every write that came before, so nothing changes between looking and writing.
    """
    authorizer.require(by=by, any_of=MANAGE)
    with open_write(Gate.PEOPLE):
        plan = planned(body=body, by=by)
        if seen != plan.fingerprint:
            raise Stale("Somebody changed these policies meanwhile. Check again what will be done.")
        writes = [
            Write(one.urn or policies.new_urn(), one.draft, one.version) for one in plan.planned if not one.is_same
        ]
        if not writes:
            return plan, PolicyVersion.current()
        return plan, policies.write_many(writes=writes, by=by, door=door)


def _is_alike(stored: Policy, draft: Draft) -> bool:
    """Whether a policy is stored with this document; with its keys in another order it is another one."""
    return json.dumps(stored.document) == json.dumps(draft.document)


def _entry(policy: Policy) -> dict[str, Any]:
    return {
        "urn": policy.urn,
        "family": policy.family,
        "name": policy.name,
        "description": policy.description,
        "state": policy.state,
        "document": policy.document,
    }


def _entries(value: Any) -> tuple[list[Any], str | None]:
    """Return the entries and the place of their list; no place for a single entry."""
    match value:
        case list():
            return value, ""
        case {"policies": list() as entries, **rest} if not rest:
            return entries, "/policies"
        case _:
            return [value], None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a file: its place there, where in it the document is, and what it says beside the document."""

    place: str
    document_at: str
    urn: str | None
    name: str | None
    description: str | None
    draft: Draft


class _Reading:
    """The entries of one file, each with its place, and what is wrong with them."""

    def __init__(self, entries: Sequence[tuple[str, Any]]) -> None:
        self.problems: list[Problem] = []
        read = [one for place, entry in entries if (one := self._read(place, entry)) is not None]
        known = policies.bound_by(one.draft for one in read)
        urns = [one.urn for one in read if one.urn is not None]
        self._stored = {policy.urn: policy for policy in policy_queries.policies_among(urns=urns)}
        self._entries = [checked for one in read if (checked := self._checked(one, known)) is not None]

    def planned(self, by: Actor) -> list[Planned]:
        """Compare the entries with what is stored."""
        self._note_doubles()
        return [self._planned(one, self._stored.get(one.urn or ""), by) for one in self._entries]

    def _read(self, place: str, entry: Any) -> _Entry | None:
        """Take one entry apart; None when its shape is wrong."""
        before = len(self.problems)
        fields, document_at = self._fields(place, entry)
        if len(self.problems) > before:
            return None
        draft = Draft(fields.get("family") or "datahub", fields["document"], fields.get("state"), None)
        return _Entry(place, document_at, fields.get("urn"), fields.get("name"), fields.get("description"), draft)

    def _checked(self, one: _Entry, known: Container[str]) -> _Entry | None:
        """Return the entry with its document as it would be stored; None when it cannot be stored."""
        try:
            if one.urn is not None:
                policies.checked_urn(one.urn)
        except Invalid as error:
            self._note(one.place, error.problems)
        try:
            # Unknown fields refuse a policy, unless it is stored with them already.
            stored = self._stored.get(one.urn or "")
            draft = replace(one.draft, keeps_unknown=stored is not None and _is_alike(stored, one.draft))
            document = policies.checked(draft, known=known)
        except Invalid as error:
            for problem in error.problems:
                is_beside = problem.code in ("state.disagrees", UnknownFamily.code)
                self._note(one.place if is_beside else f"{one.place}{one.document_at}", [problem])
            return None
        columns = families.get(one.draft.family).columns(document)
        for name, beside in (("name", one.name), ("description", one.description)):
            if name in columns and beside not in (None, columns[name]):
                detail = f"The {name} beside the document is not the one in it."
                self._note(one.place, [Problem(f"{name}.disagrees", f"/{name}", detail)])
        description = None if "description" in columns else one.description
        return replace(one, draft=Draft(one.draft.family, document, one.draft.state, description))

    def _fields(self, place: str, entry: Any) -> tuple[Mapping[str, Any], str]:
        """Return the fields of an entry and where in it its document is, after noting what is wrong with its shape."""
        if not isinstance(entry, dict):
            self._note(place, [Problem("type.object", "", "A policy is an object.")])
            return {}, ""
        if "document" not in entry and "info" not in entry:
            return {"document": entry}, ""
        known = _BOOT_FIELDS if "info" in entry else _ENTRY_FIELDS
        for name in entry:
            if name not in known:
                self._note(place, [Problem("field.unknown", f"/{escape(name)}", f"There is no field {name!r} here.")])
        for name in _TEXTS:
            value = entry.get(name)
            if value is not None and not isinstance(value, str):
                self._note(place, [Problem("type.text", f"/{name}", "This must be a text.")])
        document_at = "info" if "info" in entry else "document"
        return {**entry, "document": entry[document_at]}, f"/{document_at}"

    def _planned(self, one: _Entry, stored: Policy | None, by: Actor) -> Planned:
        place, urn, draft = one.place, one.urn, one.draft
        columns = families.get(draft.family).columns(draft.document)
        if stored is None:
            return Planned(urn, columns["name"], draft, None, is_same=False)
        state = columns.get("state", draft.state or stored.state)
        description = columns.get("description", stored.description if draft.description is None else draft.description)
        is_same = _is_alike(stored, draft) and (stored.state, stored.description) == (state, description)
        if stored.family != draft.family:
            self._note(place, [Problem("family.fixed", "/family", "A policy keeps its family.")])
        elif (
            not is_same
            and not stored.is_editable
            and by.urn != SYSTEM_ACTOR
            and not policies.is_switched(
                stored, {"document": draft.document, "state": state, "description": description}
            )
        ):
            self._note(place, [Problem("policy.fixed", "/urn", f"{stored.name} cannot be changed.")])
        beside = Draft(draft.family, draft.document, state, None if "description" in columns else description)
        return Planned(urn, columns["name"], beside, stored.version, is_same=is_same)

    def _note_doubles(self) -> None:
        first: dict[str, str] = {}
        for one in self._entries:
            if one.urn is not None and (at := first.setdefault(one.urn, one.place)) != one.place:
                detail = f"{one.urn} is in this file already, at {at}."
                self._note(one.place, [Problem("urn.twice", "/urn", detail)])

    def _note(self, place: str, problems: Iterable[Problem]) -> None:
        self.problems += (Problem(one.code, f"{place}{one.pointer}", one.detail) for one in problems)
