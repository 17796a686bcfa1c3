"""Export of policies to a file exactly as they are stored, and import from one, all or none.

A file holds `{"policies": [entry, ...]}`; a list of entries, a single entry, and a bare DataHub document are accepted,
too. An entry is `{"urn", "family", "name", "description", "state", "document"}`, of which only `document` is required;
DataHub's own `{"urn", "info"}` is accepted. A policy whose URN is stored is replaced, any other is new.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from policies.authoring.services import draft_statements, policies
from policies.authoring.services.import_entries import ImportReader, PlannedPolicy
from policies.authoring.services.policies import MANAGE_POLICIES, PolicyWrite
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import UNLIMITED
from policies.engine.model import Actor
from policies.errors import Invalid, Stale
from policies.models import Gate, Policy, PolicyVersion, open_write
from policies.models.policy import POLICY_PREFIX, describe_validity
from policies.pdp import authorizer
from policies.writes import strict_json, unit_of_work

#: Most policies in one file.
MAX_POLICIES = 10_000
#: Most commas and opening brackets in one file: a hundred for each policy.
MAX_SIGNS = 1_000_000


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
    entry |= {} if draft.validity is None else describe_validity(draft.validity)
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
    return ImportPlan(tuple(ImportReader(entries).plan(by)))


def read_proposals(value: Any) -> list[ProposedPolicy]:
    """Return the policies of a file's content as they would be stored, to evaluate them. Stores nothing.

    Raises Invalid with every problem. An empty list is valid here.
    """
    items = ImportReader(_file_entries(value)).plan(authorizer.SYSTEM)
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


def _file_entry(policy: Policy) -> dict[str, Any]:
    entry = {
        "urn": policy.urn,
        "family": policy.family,
        "name": policy.name,
        "description": policy.description,
        "state": policy.state,
    }
    if policy.family != Policy.Family.DATAHUB and policy.validity != UNLIMITED:
        entry |= describe_validity(policy.validity)
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
