"""The tests of a bundle as files: policies, assertions and the files of `tests/`, read together and run."""

from collections.abc import Mapping
from pathlib import Path

from catalog.reports.assertions.parser import Assertion, InvalidAssertions, parse_one
from catalog.reports.bundle_tests import running
from catalog.reports.bundle_tests.case_reader import CaseFile, read_case_file
from catalog.reports.bundle_tests.running import CaseResult
from catalog.reports.snapshot.partitions import SnapshotState
from policies.authoring.services.bundles import files, kinds, policy_entries
from policies.authoring.services.bundles.files import TESTS_FOLDER
from policies.authoring.services.bundles.policy_entries import PolicyEntries
from policies.engine.errors import Problem
from policies.engine.model import Statement
from policies.errors import Invalid

#: Folder of assertions, each of which is checked against the snapshot.
ASSERTIONS_FOLDER = "assertions"


def run_folder(folder: Path, *, snapshot: Path | None) -> list[CaseResult]:
    """Return the results of the tests of a folder, against a snapshot on disk if one is given; reads no database.

    Raises Invalid with every problem of the files, or for a snapshot that cannot be read.
    """
    texts = files.read_folder(folder, has_tests=True)
    state = None if snapshot is None else running.load_snapshot_state(snapshot.resolve().as_uri())
    return run_tests(texts, state=state)


def run_tests(texts: Mapping[str, str], *, state: SnapshotState | None) -> list[CaseResult]:
    """Return the results of the tests of a bundle (path → text), by file. Raises Invalid with every problem."""
    refusals: list[Problem] = []
    case_files: list[CaseFile] = []
    assertions: dict[str, Assertion] = {}
    statements_by_policy: dict[str, tuple[Statement, ...]] = {}
    for path, text in sorted(texts.items()):
        try:
            if path.startswith(f"{TESTS_FOLDER}/"):
                case_files.append(read_case_file(path, text))
            elif path.startswith(f"{ASSERTIONS_FOLDER}/"):
                assertions[path] = read_assertion(path, text)
        except Invalid as error:
            refusals += error.problems
    other_texts = {
        path: text for path, text in texts.items() if not path.startswith((f"{TESTS_FOLDER}/", f"{ASSERTIONS_FOLDER}/"))
    }
    try:
        statements_by_policy = _compile_policies(other_texts)
    except Invalid as error:
        refusals += error.problems
    if refusals:
        raise Invalid(refusals)
    if not case_files and not assertions:
        raise Invalid.from_problem(
            code="tests.missing", pointer=f"{TESTS_FOLDER}/", detail="There is nothing to test: no file of tests."
        )
    return running.run_case_files(case_files, assertions, statements_by_policy, state=state)


def read_assertion(path: str, text: str) -> Assertion:
    """Return the assertion of a file. Raises Invalid with every problem, each with file and line."""
    try:
        return parse_one(text)
    except InvalidAssertions as error:
        raise Invalid(
            [
                Problem(problem.code, f"{path}:{problem.pointer.removeprefix('line ')}", problem.detail)
                for problem in error.problems
            ]
        ) from None


def _compile_policies(texts: Mapping[str, str]) -> dict[str, tuple[Statement, ...]]:
    bundle_files = files.parse_files(texts, folders=kinds.load_kinds())
    policy_files = [file for file in bundle_files if file.folder == PolicyEntries.folder]
    entries = policy_entries.read_unstored(policy_files) if policy_files else []
    return {entry.key: policy_entries.compile_entry(entry) for entry in entries}
