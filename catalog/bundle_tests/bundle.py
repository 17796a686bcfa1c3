"""The tests of a bundle as files: policies, assertions and the files of `tests/`, read together and run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from catalog.assertions.parser import Assertion, read_assertion
from catalog.bundle_tests import running
from catalog.bundle_tests.case_reader import CaseFile, read_case_file
from catalog.bundle_tests.running import CaseResult, CaseWorld
from policies.authoring.services.bundles import files, kinds, policy_entries
from policies.authoring.services.bundles.policy_entries import PolicyEntries
from policies.engine.errors import Problem
from policies.engine.model import Statement
from policies.errors import Invalid

#: Folder of assertions, each of which is checked against the snapshot.
ASSERTIONS_FOLDER = "assertions"


@dataclass(frozen=True, slots=True)
class BundleTests:
    """The parts of a bundle for its tests: files of tests, assertions by path, all other texts, and problems."""

    case_files: Sequence[CaseFile]
    assertions: Mapping[str, Assertion]
    other_texts: Mapping[str, str]
    problems: Sequence[Problem]


def run_folder(folder: Path, *, snapshot: Path | None) -> list[CaseResult]:
    """Return the results of the tests of a folder, against a snapshot on disk if one is given; reads no database.

    Raises Invalid with every problem of the files, or for a snapshot that cannot be read.
    """
    texts = files.read_folder(folder, has_tests=True)
    world = None if snapshot is None else running.load_world(snapshot.resolve().as_uri())
    return run_tests(texts, world=world)


def run_tests(texts: Mapping[str, str], *, world: CaseWorld | None) -> list[CaseResult]:
    """Return the results of the tests of a bundle (path → text), by file. Raises Invalid with every problem."""
    tests = read_tests(texts)
    try:
        statements_by_policy = _compile_policies(tests.other_texts)
    except Invalid as error:
        raise Invalid([*tests.problems, *error.problems]) from None
    if tests.problems:
        raise Invalid(tests.problems)
    return running.run_case_files(
        tests.case_files,
        tests.assertions,
        statements_by_policy,
        world=world,
        bundle_texts=tests.other_texts.values(),
    )


def read_tests(texts: Mapping[str, str]) -> BundleTests:
    """Return the tests among the texts of a bundle (path → text), the other texts, and the problems found.

    A problem has file and line; one that cannot be read is left out of the tests. Raises Invalid for too many texts.
    """
    problems: list[Problem] = []
    files.refuse_large(texts)
    case_files: list[CaseFile] = []
    assertions: dict[str, Assertion] = {}
    other_texts: dict[str, str] = {}
    for path, text in sorted(texts.items()):
        try:
            match path.partition("/")[0]:
                case files.TESTS_FOLDER:
                    case_files.append(read_case_file(path, text))
                case folder if folder == ASSERTIONS_FOLDER:
                    assertions[path] = read_assertion(path, text)
                case _:
                    other_texts[path] = text
        except Invalid as error:
            problems += error.problems
    if not case_files and not assertions and not problems:
        detail = "There is nothing to test: no file of tests and no assertion."
        problems.append(Problem("tests.missing", f"{files.TESTS_FOLDER}/", detail))
    return BundleTests(case_files, assertions, other_texts, problems)


def _compile_policies(texts: Mapping[str, str]) -> dict[str, tuple[Statement, ...]]:
    bundle_files, problems = files.parse_readable_files(texts, folders=kinds.load_kinds())
    policy_files = [file for file in bundle_files if file.folder == PolicyEntries.folder]
    try:
        entries = policy_entries.read_unstored(policy_files) if policy_files else []
    except Invalid as error:
        raise Invalid([*problems, *error.problems]) from None
    if problems:
        raise Invalid(problems)
    return {entry.key: policy_entries.compile_entry(entry) for entry in entries}
