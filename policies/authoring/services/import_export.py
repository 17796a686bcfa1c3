"""Export of policies to a file exactly as they are stored, and import from one, all or none.

A file holds `{"policies": [entry, ...]}`; a list of entries, a single entry, and a bare DataHub document are accepted,
too. An entry is `{"urn", "family", "name", "description", "state", "document"}`, of which only `document` is required;
DataHub's own `{"urn", "info"}` is accepted. A policy whose URN is stored is replaced, any other is new.
"""

import json
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import draft_statements, policies, policy_drafts, policy_storage, references
from policies.authoring.services.policies import MANAGE_POLICIES, PolicyWrite
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import families
from policies.engine.errors import Problem, UnknownFamily
from policies.engine.families import datahub, datahub_fields
from policies.engine.families.document_reader import escape
from policies.engine.families.validity import UNLIMITED
from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.errors import Invalid, Stale
from policies.models import Gate, Policy, PolicyVersion, open_write
from policies.models.policy import POLICY_PREFIX
from policies.pdp import authorizer
from policies.writes import strict_json, unit_of_work

#: Most policies in one file.
MAX_POLICIES = 10_000
#: Most commas and opening brackets in one file: a hundred for each policy.
MAX_SIGNS = 1_000_000

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


@dataclass(frozen=True, slots=True)
class ProposedPolicy:
    """One policy as it would be stored; a new one without a URN gets a placeholder URN."""

    urn: str
    family: str
    name: str
    document: Mapping[str, Any]
    is_in_force: bool


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """The effect of importing a file."""

    policies: tuple[PlannedPolicy, ...]

    @property
    def new_policies(self) -> list[PlannedPolicy]:
        """The policies that would be created."""
        return [policy for policy in self.policies if policy.version is None]

    @property
    def replaced_policies(self) -> list[PlannedPolicy]:
        """The policies that would get another document, state or description."""
        return [policy for policy in self.policies if policy.version is not None and not policy.is_same]

    @property
    def unchanged_policies(self) -> list[PlannedPolicy]:
        """The policies that are stored exactly so; nothing is written for them."""
        return [policy for policy in self.policies if policy.is_same]

    @property
    def fingerprint(self) -> str:
        """A hash of URNs, versions and `is_same`; it differs once somebody else changed one of these policies."""
        return unit_of_work.fingerprint(
            {"plan": [(policy.urn, policy.version, policy.is_same) for policy in self.policies]}
        )


def export_policies(rows: Iterable[Policy]) -> dict[str, Any]:
    """Return policies as the content of a file."""
    return {"policies": [_file_entry(policy) for policy in rows]}


def format_proposal(*, draft: PolicyInput, urn: str = "") -> str:
    """Return a draft as the text of a file with one policy; `urn` is the stored policy that it would replace."""
    entry = {"urn": urn or None, "family": draft.family, "state": draft.state, "document": draft.document}
    entry |= {} if draft.validity is None else policy_storage.describe_validity(draft.validity)
    return json.dumps([{name: value for name, value in entry.items() if value is not None}], ensure_ascii=False)


def plan_import(*, body: bytes, by: Actor) -> ImportPlan:
    """Return the plan of importing a file. Stores nothing.

    Raises Forbidden, or Invalid with every problem of every policy, each with its place in the file. The number of
    queries does not grow with the policies.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    entries = _file_entries(strict_json.loads(body, label="The file", max_signs=MAX_SIGNS))
    if not entries:
        raise Invalid.from_problem(code="import.empty", pointer="", detail="There are no policies in this file.")
    if len(entries) > MAX_POLICIES:
        detail = f"A file holds up to {MAX_POLICIES:,} policies, not {len(entries):,}."
        raise Invalid.from_problem(code="import.long", pointer="", detail=detail)
    return ImportPlan(tuple(_ImportReader(entries).plan(by)))


def plan_entries(
    entries: Sequence[tuple[str, Any]], *, by: Actor, coming_urns: Collection[str] = ()
) -> list[PlannedPolicy]:
    """Return the plan of entries, each with its JSON pointer; `coming_urns` will exist when they are stored.

    Raises Forbidden, or Invalid with every problem.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    return _ImportReader(entries, coming_urns).plan(by)


def plan_unstored(entries: Sequence[tuple[str, Any]]) -> list[PlannedPolicy]:
    """Return the plan of entries, each with its JSON pointer, as if nothing were stored and whatever they name existed.

    It reads no database. Raises Invalid with every problem.
    """
    return _ImportReader(entries, references.ANY_URN).plan(authorizer.SYSTEM)


def read_proposals(value: Any) -> list[ProposedPolicy]:
    """Return the policies of a file's content as they would be stored, to evaluate them. Stores nothing.

    Raises Invalid with every problem. An empty list is valid here.
    """
    items = _ImportReader(_file_entries(value)).plan(authorizer.SYSTEM)
    stored_validity = draft_statements.load_validity([item.urn for item in items if item.urn])
    return [
        ProposedPolicy(
            urn=item.urn or f"{POLICY_PREFIX}proposed-{number}",
            family=item.draft.family,
            name=item.name,
            document=item.draft.document,
            is_in_force=draft_statements.is_in_force(item.draft, stored_validity.get(item.urn or "", UNLIMITED)),
        )
        for number, item in enumerate(items, start=1)
    ]


def apply_import(*, body: bytes, expected_fingerprint: str, by: Actor, channel: str) -> tuple[ImportPlan, int]:
    """Import a file, all or nothing; return the plan that was carried out and the version of all policies afterwards.

    Raises Stale when the plan differs from `expected_fingerprint`, the errors of `plan_import`, or Conflict when nobody
    could manage policies afterwards. The plan is made inside the write, after all earlier writes, so nothing changes
    between planning and writing.
    """
    authorizer.require(by=by, any_of=MANAGE_POLICIES)
    with open_write(Gate.PEOPLE):
        plan = plan_import(body=body, by=by)
        if expected_fingerprint != plan.fingerprint:
            raise Stale("Somebody changed these policies meanwhile. Check again what will be done.")
        writes = [
            PolicyWrite(policy.urn or policies.generate_urn(), policy.draft, policy.version)
            for policy in plan.policies
            if not policy.is_same
        ]
        if not writes:
            return plan, PolicyVersion.load_version()
        return plan, policies.write_many(writes=writes, by=by, channel=channel)


def _has_same_document(policy: Policy, draft: PolicyInput) -> bool:
    """Whether a policy is stored with this document; another order of keys is a difference."""
    return json.dumps(policy.document) == json.dumps(draft.document)


def _file_entry(policy: Policy) -> dict[str, Any]:
    entry = {
        "urn": policy.urn,
        "family": policy.family,
        "name": policy.name,
        "description": policy.description,
        "state": policy.state,
    }
    if policy.family != Policy.Family.DATAHUB and policy.validity != UNLIMITED:
        entry |= policy_storage.describe_validity(policy.validity)
    return entry | {"document": policy.document}


def _file_entries(value: Any) -> list[tuple[str, Any]]:
    """Return the entries, each with its JSON pointer, '' for a single one."""
    match value:
        case list():
            entries, pointer = value, ""
        case {"policies": list() as entries, **other_keys} if not other_keys:
            pointer = "/policies"
        case _:
            return [("", value)]
    return [(f"{pointer}/{index}", entry) for index, entry in enumerate(entries)]


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


class _ImportReader:
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
