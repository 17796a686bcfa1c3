"""Policies in a bundle: the entries of an exported file (`import_export`), one in each file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from policies.authoring.services import draft_statements, import_entries, policies
from policies.authoring.services.bundles.files import BundleFile
from policies.authoring.services.bundles.kinds import (
    BundleChange,
    ChangeKind,
    FileEntry,
    ReadContext,
    StoredEntry,
    choose_changes,
)
from policies.authoring.services.bundles.row_entries import RowEntries, build_stored_entry
from policies.authoring.services.import_entries import PlannedPolicy
from policies.authoring.services.policies import PolicyWrite
from policies.changes.worlds import StagedWorld
from policies.engine import families
from policies.engine.errors import MORE_PROBLEMS, Problem
from policies.engine.families.validity import UNLIMITED, Validity
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.errors import Invalid
from policies.models import Policy
from policies.writes import required_privileges


class PolicyEntries(RowEntries):
    """The kind of policies."""

    folder, noun, model = "policies", "policy", Policy
    requirement = required_privileges.MANAGE_POLICIES

    def list_stored(self) -> list[StoredEntry]:
        """Return the policies that can be changed."""
        rows = Policy.objects.exclude(is_system=True, is_editable=False).order_by("urn")
        return [
            build_stored_entry(
                policy,
                _build_value(
                    policy.urn, policy.family, policy.document, policy.state, policy.description, policy.validity
                ),
            )
            for policy in rows
        ]

    def read_entries(self, files: Sequence[BundleFile], context: ReadContext, /) -> list[FileEntry]:
        """Return the policies of files as they would be stored. Raises Invalid with every problem."""
        return _read_entries(
            files, partial(import_entries.plan_entries, by=context.by, coming_urns=context.coming_urns)
        )

    def write(self, changes: Sequence[BundleChange], *, by: Actor, channel: str) -> None:
        """Write and delete policies as one version of all."""
        writes = []
        for change in choose_changes(changes, ChangeKind.CREATE, ChangeKind.CHANGE):
            if change.entry is not None:
                policy: PlannedPolicy = change.entry.draft
                writes.append(PolicyWrite(change.key, policy.draft, policy.version))
        deleted_urns = [change.key for change in choose_changes(changes, ChangeKind.DELETE)]
        if writes or deleted_urns:
            policies.write_many(writes=writes, by=by, channel=channel, deleted_urns=deleted_urns)


def read_unstored(files: Sequence[BundleFile]) -> list[FileEntry]:
    """Return the policies of files as if nothing were stored; it reads no database. Raises Invalid."""
    return _read_entries(files, import_entries.plan_unstored)


def stage_policies(changes: Sequence[BundleChange], world: StagedWorld) -> None:
    """Stage the policies that are written as these changes would leave them; None for those that are gone."""
    written_changes = choose_changes(changes, ChangeKind.CREATE, ChangeKind.CHANGE, ChangeKind.DELETE)
    world.load_policies(change.key for change in written_changes)
    for change in written_changes:
        policy = world.find_policy(change.key)
        if policy is not None:
            # What is managed is refused to all writes but that of the bundle.
            policy.is_managed = False
        world.policies[change.key] = (
            None
            if change.entry is None
            else policies.stage_write(urn=change.key, policy=policy, draft=change.entry.draft.draft, by=world.by)
        )


def compile_entry(entry: FileEntry) -> tuple[Statement, ...]:
    """Return the statements of a policy that count now: none of one that is inactive or out of its time."""
    return draft_statements.compile_in_force(entry.draft.draft, StatementOrigin(entry.key, entry.name))


def _read_entries(
    files: Sequence[BundleFile], plan: Callable[[Sequence[tuple[str, Any]]], list[PlannedPolicy]]
) -> list[FileEntry]:
    problems = [problem for file in files for problem in _find_shape_problems(file)]
    if problems:
        raise Invalid(problems)
    try:
        planned_policies = plan([(f"/{number}", _complete_fields(file.value)) for number, file in enumerate(files)])
    except Invalid as error:
        raise Invalid([_locate(problem, files) for problem in error.problems]) from None
    return [
        FileEntry(file, policy.urn or "", policy.name, _planned_value(policy), policy)
        for file, policy in zip(files, planned_policies, strict=True)
    ]


def _build_value(
    urn: str, family: str, document: Mapping[str, Any], state: str, description: str, validity: Validity
) -> dict[str, Any]:
    """Return the value of a policy's file: the document, and beside it only what the document does not hold."""
    columns = families.get(family).column_values(document)
    value: dict[str, Any] = {"urn": urn, "family": family}
    if "state" not in columns:
        value["state"] = state
    if "description" not in columns and description:
        value["description"] = description
    if "valid_from" not in columns and validity != UNLIMITED:
        instants = {"valid_from": validity.begins, "valid_until": validity.ends}
        value |= {name: instant.isoformat() for name, instant in instants.items() if instant is not None}
    return value | {"document": document}


def _complete_fields(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a file with defaults for those left out, as nothing that is stored is kept in a bundle."""
    if value.get("family") in (None, Policy.Family.DATAHUB):
        return value
    defaults = {"state": Policy.State.ACTIVE.value, "description": "", "valid_from": None, "valid_until": None}
    return defaults | {name: item for name, item in value.items() if item is not None}


def _planned_value(policy: PlannedPolicy) -> dict[str, Any]:
    draft = policy.draft
    return _build_value(
        policy.urn or "",
        draft.family,
        draft.document,
        draft.state or Policy.State.ACTIVE,
        draft.description or "",
        draft.validity or UNLIMITED,
    )


def _find_shape_problems(file: BundleFile) -> Iterator[Problem]:
    if not isinstance(file.value, dict):
        yield file.make_problem("type.object", 1, "A policy is a mapping with `urn`, `family` and `document`.")
        return
    if "document" not in file.value:
        yield file.make_problem("document.missing", 1, "`document` is missing: the policy in the format of its family.")
    if file.value.get("urn") is None:
        yield file.make_problem("urn.missing", 1, "`urn` is missing: it identifies the policy, also under a new name.")


def _locate(problem: Problem, files: Sequence[BundleFile]) -> Problem:
    if problem.code == MORE_PROBLEMS:
        return problem
    number, slash, rest = problem.pointer[1:].partition("/")
    return files[int(number)].locate(Problem(problem.code, slash + rest, problem.detail))
