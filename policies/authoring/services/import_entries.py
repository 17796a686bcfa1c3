"""Entries of files with policies: read, checked, and compared with what is stored. Nothing is stored."""

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts, references
from policies.authoring.services.policies import MANAGE_POLICIES
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import families
from policies.engine.errors import Problem, UnknownFamily
from policies.engine.families import datahub, datahub_fields
from policies.engine.families.document_reader import escape
from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Invalid
from policies.models import Policy
from policies.pdp import authorizer

_TIME_FIELDS = ("valid_from", "valid_until")
_ENTRY_FIELDS = ("urn", "family", "name", "description", "state", "editable", "version", *_TIME_FIELDS, "document")
#: The key of the document in an entry as DataHub has it.
_DATAHUB_DOCUMENT_KEY = "info"
_DATAHUB_ENTRY_FIELDS = ("urn", _DATAHUB_DOCUMENT_KEY)
_TEXT_FIELDS = ("urn", "family", "name", "description", "state")


@dataclass(frozen=True, slots=True)
class PlannedPolicy:
    """One policy of a file: its draft, and the version it would replace (None: it is new).

    `is_same` is set where it is stored exactly so.
    """

    urn: str | None
    name: str
    draft: PolicyInput
    version: int | None
    is_same: bool


def plan_entries(
    entries: Sequence[tuple[str, Any]], *, by: Actor, coming_urns: Collection[str] = ()
) -> list[PlannedPolicy]:
    """Return the plan of entries, each with its JSON pointer; `coming_urns` will exist when they are stored.

    Raises Forbidden, or Invalid with every problem.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    return ImportReader(entries, coming_urns).plan(by)


def plan_unstored(entries: Sequence[tuple[str, Any]]) -> list[PlannedPolicy]:
    """Return the plan of entries, each with its JSON pointer, as if nothing were stored and whatever they name existed.

    It reads no database. Raises Invalid with every problem.
    """
    return ImportReader(entries, references.ANY_URN).plan(authorizer.SYSTEM)


@dataclass(frozen=True, slots=True)
class _FileEntry:
    """One entry of a file: its pointer, the pointer of the document within it, and the fields beside the document."""

    pointer: str
    document_pointer: str
    urn: str | None
    name: str | None
    description: str | None
    draft: PolicyInput
    times: tuple[Any, Any] | None


def _keep_own_fields(entry: _FileEntry, policy: Policy | None) -> _FileEntry:
    """Return an entry of DataHub's with what it leaves out of our own fields as it is stored, as by its protocols."""
    document = entry.draft.document
    is_of_datahub = entry.document_pointer == f"/{_DATAHUB_DOCUMENT_KEY}" and isinstance(document, dict)
    if not is_of_datahub or policy is None or policy.family != datahub.NAME:
        return entry
    return replace(
        entry, draft=replace(entry.draft, document=datahub_fields.keep_own_fields(document, policy.document))
    )


class ImportReader:
    """Reader of the entries of one file, each with its pointer; `_problems` collects their errors."""

    def __init__(
        self, entries: Sequence[tuple[str, Any]], coming_urns: Collection[str] | references.AnyUrn = ()
    ) -> None:
        self._problems: list[Problem] = []
        file_entries = [
            file_entry for pointer, entry in entries if (file_entry := self._read_entry(pointer, entry)) is not None
        ]
        self._policies_by_urn: dict[str, Policy] = {}
        existing_urns: Container[str] = references.ANY_URN
        if not isinstance(coming_urns, references.AnyUrn):
            existing_urns = policy_drafts.find_references(file_entry.draft for file_entry in file_entries) | set(
                coming_urns
            )
            urns = [file_entry.urn for file_entry in file_entries if file_entry.urn is not None]
            self._policies_by_urn = {policy.urn: policy for policy in policy_queries.find_policies(urns=urns)}
        self._entries = [
            valid_entry
            for file_entry in file_entries
            if (valid_entry := self._validate_entry(file_entry, existing_urns)) is not None
        ]

    def plan(self, by: Actor) -> list[PlannedPolicy]:
        """Return the plan of each entry, compared with the stored policies; raises Invalid with every problem."""
        self._note_duplicates()
        plan = [self._plan_entry(entry, self._policies_by_urn.get(entry.urn or ""), by) for entry in self._entries]
        if self._problems:
            raise Invalid(self._problems)
        return plan

    def _read_entry(self, pointer: str, entry: Any) -> _FileEntry | None:
        """Return one entry with its parts separated; None when its shape is wrong."""
        problem_count = len(self._problems)
        fields, document_pointer = self._read_fields(pointer, entry)
        if len(self._problems) > problem_count:
            return None
        draft = PolicyInput(fields.get("family") or "datahub", fields["document"], fields.get("state"), None)
        times = (fields.get("valid_from"), fields.get("valid_until")) if fields.keys() & set(_TIME_FIELDS) else None
        return _FileEntry(
            pointer, document_pointer, fields.get("urn"), fields.get("name"), fields.get("description"), draft, times
        )

    def _validate_entry(self, entry: _FileEntry, existing_urns: Container[str]) -> _FileEntry | None:
        """Return the entry with its document as it would be stored; None when it cannot be stored."""
        try:
            if entry.urn is not None:
                policies.validate_urn(entry.urn)
        except Invalid as error:
            self._note(entry.pointer, error.problems)
        policy = self._policies_by_urn.get(entry.urn or "")
        entry = _keep_own_fields(entry, policy)
        try:
            # A document with unknown fields is invalid, unless it is stored already.
            draft = replace(entry.draft, keeps_unknown=policy is not None and _has_same_document(policy, entry.draft))
            if entry.times is None:
                document = policy_drafts.validate_draft(draft, existing_urns=existing_urns)
            else:
                draft, document = policy_drafts.validate_draft_with_times(
                    draft, begins=entry.times[0], ends=entry.times[1], existing_urns=existing_urns
                )
        except Invalid as error:
            for problem in error.problems:
                is_about_entry = problem.code in ("state.disagrees", UnknownFamily.code) or problem.pointer in (
                    "/valid_from",
                    "/valid_until",
                )
                self._note(entry.pointer if is_about_entry else f"{entry.pointer}{entry.document_pointer}", [problem])
            return None
        columns = families.get(entry.draft.family).column_values(document)
        for name, entry_value in (("name", entry.name), ("description", entry.description)):
            if name in columns and entry_value not in (None, columns[name]):
                detail = f"The {name} beside the document is not the one in it."
                self._note(entry.pointer, [Problem(f"{name}.disagrees", f"/{name}", detail)])
        description = None if "description" in columns else entry.description
        checked_draft = PolicyInput(
            entry.draft.family, document, entry.draft.state, description, validity=draft.validity
        )
        return replace(entry, draft=checked_draft)

    def _read_fields(self, pointer: str, entry: Any) -> tuple[Mapping[str, Any], str]:
        """Return the fields of an entry and the pointer of its document; problems of its shape are collected."""
        if not isinstance(entry, dict):
            self._note(pointer, [Problem("type.object", "", "A policy is an object.")])
            return {}, ""
        if "document" not in entry and _DATAHUB_DOCUMENT_KEY not in entry:
            return {"document": entry}, ""
        allowed_names = _DATAHUB_ENTRY_FIELDS if _DATAHUB_DOCUMENT_KEY in entry else _ENTRY_FIELDS
        for name in entry:
            if name not in allowed_names:
                self._note(pointer, [Problem("field.unknown", f"/{escape(name)}", f"There is no field {name!r} here.")])
        for name in _TEXT_FIELDS:
            value = entry.get(name)
            if value is not None and not isinstance(value, str):
                self._note(pointer, [Problem("type.text", f"/{name}", "This must be a text.")])
        document_key = _DATAHUB_DOCUMENT_KEY if _DATAHUB_DOCUMENT_KEY in entry else "document"
        return {**entry, "document": entry[document_key]}, f"/{document_key}"

    def _plan_entry(self, entry: _FileEntry, policy: Policy | None, by: Actor) -> PlannedPolicy:
        pointer, urn, draft = entry.pointer, entry.urn, entry.draft
        columns = families.get(draft.family).column_values(draft.document)
        if policy is None:
            return PlannedPolicy(urn, columns["name"], draft, None, is_same=False)
        state = columns.get("state", draft.state or policy.state)
        description = columns.get("description", policy.description if draft.description is None else draft.description)
        validity = policy.validity if draft.validity is None or "valid_from" in columns else draft.validity
        is_same = _has_same_document(policy, draft) and (policy.state, policy.description, policy.validity) == (
            state,
            description,
            validity,
        )
        if policy.family != draft.family:
            self._note(pointer, [Problem("family.fixed", "/family", "A policy keeps its family.")])
        elif (
            not is_same
            and not policy.is_editable
            and by.urn != SYSTEM_ACTOR
            and not policies.is_only_state_change(
                policy,
                {
                    "document": draft.document,
                    "state": state,
                    "description": description,
                    "valid_from": validity.begins,
                    "valid_until": validity.ends,
                },
            )
        ):
            self._note(pointer, [Problem("policy.fixed", "/urn", f"{policy.name} cannot be changed.")])
        planned_draft = PolicyInput(
            draft.family,
            draft.document,
            state,
            None if "description" in columns else description,
            validity=draft.validity,
        )
        return PlannedPolicy(urn, columns["name"], planned_draft, policy.version, is_same=is_same)

    def _note_duplicates(self) -> None:
        pointers_by_urn: dict[str, str] = {}
        for entry in self._entries:
            if (
                entry.urn is not None
                and (first_pointer := pointers_by_urn.setdefault(entry.urn, entry.pointer)) != entry.pointer
            ):
                detail = f"{entry.urn} is in this file already, at {first_pointer}."
                self._note(entry.pointer, [Problem("urn.twice", "/urn", detail)])

    def _note(self, pointer: str, problems: Iterable[Problem]) -> None:
        self._problems += (Problem(problem.code, f"{pointer}{problem.pointer}", problem.detail) for problem in problems)


def _has_same_document(policy: Policy, draft: PolicyInput) -> bool:
    """Whether a policy is stored with this document; another order of keys is a difference."""
    return json.dumps(policy.document) == json.dumps(draft.document)
