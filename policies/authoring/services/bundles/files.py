"""The files of a bundle: read from a folder, checked and parsed, and named when they are written.

A bundle is a folder with a folder for each kind (`policies/`, `roles/` …) and in those one YAML file for
each entry. Other files, and what is in `tests/`, are no part of it.
"""

import hashlib
import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.text import slugify

from policies.engine.errors import Problem
from policies.errors import Invalid
from policies.writes import strict_yaml

#: Most files of a bundle, and most characters of all together.
MAX_FILES, MAX_TOTAL_LENGTH = 20_000, 64_000_000
#: Folder for files that test the bundle, which are no part of it.
TESTS_FOLDER = "tests"

_SUFFIXES = (".yaml", ".yml")
_MAX_PATH_LENGTH = 255
_PATH = re.compile(r"(?P<folder>[a-z_]+)/(?P<name>[^/\\\x00-\x1f]+)\.ya?ml\Z")
_URN_LINE = re.compile(r"^urn:[ \t]*['\"]?(?P<urn>[^\s'\"#]+)", re.MULTILINE)
_READABLE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}\Z")
_MAX_SLUG_LENGTH = 60
_HASH_LENGTH = 8


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file: its path in the bundle, its text, and what it says."""

    path: str
    text: str
    document: strict_yaml.YamlDocument

    @property
    def folder(self) -> str:
        """The folder, which names the kind."""
        return self.path.partition("/")[0]

    @property
    def value(self) -> Any:
        """The file's content, as a JSON value."""
        return self.document.value

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of what the file says with the file and the line."""
        return self.make_problem(problem.code, self.document.find_line(problem.pointer), problem.detail)

    def make_problem(self, code: str, line: int, detail: str) -> Problem:
        """Return a problem at a line of the file."""
        return Problem(code, f"{self.path}:{line}", detail)


def read_folder(folder: Path, *, has_tests: bool = False) -> dict[str, str]:
    """Return path → text of the YAML files of a folder, with those of `tests/` if asked for.

    Raises Invalid with every file that cannot be read.
    """
    if not folder.is_dir():
        raise Invalid.from_problem(code="folder.missing", pointer=str(folder), detail="There is no such folder.")
    texts: dict[str, str] = {}
    problems: list[Problem] = []
    total = 0
    for file in _list_files(folder, has_tests=has_tests):
        path = file.relative_to(folder).as_posix()
        try:
            # One character has up to four bytes; what is longer is not loaded.
            total += (size := file.stat().st_size)
            _refuse_many(len(texts) + 1, total // 4)
            if size > strict_yaml.MAX_LENGTH * 4:
                problems.append(Problem("file.long", path, f"A file has up to {strict_yaml.MAX_LENGTH:,} characters."))
                continue
            texts[path] = file.read_text(encoding="utf-8")
        except OSError as error:
            problems.append(Problem("file.unreadable", path, f"This cannot be read: {error.strerror}."))
        except UnicodeDecodeError as error:
            problems.append(Problem("file.encoding", path, f"This is not UTF-8: byte {error.start}."))
    if problems:
        raise Invalid(problems)
    return texts


def parse_files(texts: Mapping[str, str], *, folders: Collection[str]) -> list[BundleFile]:
    """Return the files of a bundle, by path. Raises Invalid with a problem for each that is wrong."""
    files, problems = parse_readable_files(texts, folders=folders)
    if problems:
        raise Invalid(problems)
    return files


def parse_readable_files(
    texts: Mapping[str, str], *, folders: Collection[str]
) -> tuple[list[BundleFile], list[Problem]]:
    """Return the files of a bundle that can be read, by path, and a problem for each other one.

    Raises Invalid for too many texts.
    """
    refuse_large(texts)
    files: list[BundleFile] = []
    problems: list[Problem] = []
    for path in sorted(texts):
        if (problem := _find_path_problem(path, folders)) is not None:
            problems.append(problem)
            continue
        try:
            files.append(BundleFile(path, texts[path], strict_yaml.loads(texts[path])))
        except strict_yaml.InvalidYaml as error:
            problems.append(Problem("yaml.invalid", f"{path}:{error.line}", error.detail))
    return files, problems


def list_unread_urns(texts: Mapping[str, str], files: Sequence[BundleFile]) -> set[str]:
    """Return the URNs of the files that could not be read, as far as their lines say them.

    Other files may name them, and are not wrong because of that.
    """
    read_paths = {file.path for file in files}
    unread_texts = (text for path, text in texts.items() if path not in read_paths)
    return {match["urn"] for text in unread_texts for match in _URN_LINE.finditer(text)}


def name_file(folder: str, *, identifier: str, name: str) -> str:
    """Return the path of a new file: the id of the entry if it can be read, else its name and a hash of the id.

    It depends on nothing else, so the same entry has the same file in every export.
    """
    if _READABLE_ID.match(identifier) and not _is_uuid(identifier):
        return f"{folder}/{identifier}.yaml"
    digest = hashlib.sha256(identifier.encode()).hexdigest()[:_HASH_LENGTH]
    slug = slugify(name)[:_MAX_SLUG_LENGTH].strip("-")
    return f"{folder}/{f'{slug}-' if slug else ''}{digest}.yaml"


def find_duplicates(keys: Sequence[tuple[str, BundleFile]], *, noun: str) -> list[Problem]:
    """Return a problem for each file whose key another file has already."""
    first_files: dict[str, BundleFile] = {}
    return [
        file.make_problem("entry.twice", 1, f"The {noun} {key} is in {first_file.path} already.")
        for key, file in keys
        if (first_file := first_files.setdefault(key, file)) is not file
    ]


def _list_files(folder: Path, *, has_tests: bool) -> Iterator[Path]:
    """Yield the YAML files of the folder and of its folders, by path."""
    for item in sorted(folder.iterdir()):
        if item.name.startswith(".") or (item.name == TESTS_FOLDER and not has_tests):
            continue
        files = [item] if item.is_file() else sorted(item.rglob("*")) if item.is_dir() else []
        yield from (file for file in files if file.suffix in _SUFFIXES and file.is_file())


def refuse_large(texts: Mapping[str, str]) -> None:
    """Raise Invalid for more files, or longer ones together, than a bundle may have."""
    _refuse_many(len(texts), sum(map(len, texts.values())))


def _refuse_many(count: int, length: int) -> None:
    if count > MAX_FILES:
        detail = f"A bundle has up to {MAX_FILES:,} files."
        raise Invalid.from_problem(code="bundle.long", pointer="", detail=detail)
    if length > MAX_TOTAL_LENGTH:
        detail = f"The files of a bundle have up to {MAX_TOTAL_LENGTH:,} characters together."
        raise Invalid.from_problem(code="bundle.large", pointer="", detail=detail)


def _find_path_problem(path: str, folders: Collection[str]) -> Problem | None:
    path_match = _PATH.match(path)
    if path_match is not None and path_match["folder"] in folders and len(path) <= _MAX_PATH_LENGTH:
        return None
    detail = f"A file of a bundle is in one of {', '.join(f'{folder}/' for folder in folders)} and ends in .yaml."
    return Problem("file.place", path, detail)


def _is_uuid(identifier: str) -> bool:
    try:
        uuid.UUID(identifier)
    except ValueError:
        return False
    return True
