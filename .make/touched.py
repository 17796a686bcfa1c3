"""The tests of what has changed: `make t`.

The record (`.make/record.py`) says which modules and templates each test runs. Code that tests start in other
processes, files that no test was seen to run, and data go by room: the tables below.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import changes
from jobs import Job
from record import Record, read_record
from shards import UNKNOWN_SECONDS, deal, list_files
from stages import RECORDS, SQLITE, Depth

PACKAGES = ("authzsite/", "policies/", "catalog/")
#: What all tests stand on.
EVERYTHING = (
    "authzsite/settings/",
    "tests/conftest.py",
    "tests/records.py",
    "tests/runs.py",
    "tests/tracing.py",
    "tests/workers.py",
    "pyproject.toml",
    "requirements.lock",
    "requirements-dev.lock",
)
#: The tests of a room whose code runs in other processes, or is no Python: the beginning of a path → tests.
ROOMS = {
    ".ci/": (),
    ".make/": ("tests/site/test_schedule.py", "tests/architecture/"),
    "Makefile": ("tests/architecture/",),
    "Procfile": ("tests/site/test_start.py", "tests/journeys/test_make_run.py"),
    "authzsite/": ("tests/site/",),
    "bench/": ("tests/architecture/",),
    "catalog/protocols/": ("tests/doors/",),
    "catalog/reports/": ("tests/site/test_report_worker.py",),
    "catalog/reports/run/": ("tests/spark/test_leftovers.py", "tests/spark/test_shared_spark.py"),
    "catalog/reports/spark/": (
        *("tests/spark/test_leftovers.py", "tests/spark/test_shared_spark.py", "tests/spark/test_standalone.py"),
        "tests/spark/test_user_conf.py",
    ),
    "catalog/sample/": ("tests/catalog/test_sample_company.py", "tests/requests/test_sample_month.py"),
    "catalog/spark/": ("tests/spark/test_read_as.py",),
    "catalog/warehouses/": ("tests/architecture/", "tests/spark/test_vendor_forms.py"),
    "compose.yaml": ("tests/site/test_compose.py",),
    "docs/": ("tests/architecture/", "tests/site/test_examples.py", "tests/site/test_workflow_example.py"),
    "policies/pdp/": ("tests/site/test_processes.py", "tests/site/test_cold_questions.py"),
    "policies/propagation/": ("tests/site/test_processes.py",),
    "static/": ("tests/web/test_vendored.py", "tests/web/test_markup.py", "tests/journeys/"),
    "templates/": ("tests/web/test_markup.py",),
}
#: Whose tests of a room are those of its neighbours, although no Python is in them: texts, tables, SQL beside modules.
DATA = (".css", ".html", ".js", ".json", ".jsonl", ".properties", ".sql", ".toml", ".txt", ".yaml", ".yml")
#: Folders whose tests come last: they start Spark or a browser.
LAST = ("tests/spark/", "tests/journeys/")
#: What `make t` leaves to `make test` and `make test-clients`.
APART = {"tests/clients/": "other people's programs (make test-clients)", "tests/faults/": "faults (make test)"}
#: Processor seconds of a choice: more than these in two processes are no minute.
MINUTE = 75.0


@dataclass(slots=True)
class Choice:
    """Tests to run, as pytest names them, with their seconds; `sentences` say why these; a `problem` ends the run."""

    tests: dict[str, float] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of tests: the record, the files, and what files import."""

    root: Path
    record: Record
    files: tuple[str, ...]

    def find_seconds(self, test: str) -> float:
        """Return what a test, a file or a folder takes."""
        if test in self.record.tests:
            return self.record.tests[test][0]
        inside = [seconds for name, (seconds, _) in self.record.tests.items() if name.startswith(test)]
        return sum(inside) if inside else UNKNOWN_SECONDS

    def find_runners(self, is_meant: Callable[[str], bool]) -> set[str]:
        """Return the tests that run a module or template."""
        return {test for test, (_, modules) in self.record.tests.items() if any(map(is_meant, modules))}


def choose(root: Path, since: str = "", *, is_whole: bool = False) -> Choice:
    """Return the tests of what has changed. Without `is_whole` only the cheapest of them, which take a minute."""
    try:
        found = changes.list_changes(root, since)
    except changes.UnknownCommit as error:
        return Choice(problem=f"git knows no commit {str(error)!r} (SINCE)")
    known = _Known(root, read_record(root / "tests" / "record.json"), tuple(list_files(root)))
    if everything := [path for path in found.paths if is_everything(path)]:
        names, orphans = set(known.files), []
        why = f"{everything[0]} is what all tests stand on"
    else:
        by_path = {path: set(_list_tests(known, path, found.base)) for path in found.paths}
        names = {test for tests in by_path.values() for test in tests}
        orphans = [path for path, tests in by_path.items() if path.endswith(".py") and not tests and _is_product(path)]
        why = f"{len(found.paths)} changed files"
    choice = Choice(sentences=[f"Compared with {found.words}: {why}."])
    if orphans:
        choice.problem = f"no test is known for {', '.join(orphans)}"
    modules = {_name_module(path) for path in found.paths if path.endswith(".py") and _is_product(path)}
    _fill(choice, known, names, set(_list_importers(known, modules)), is_whole=is_whole)
    return choice


def is_everything(path: str) -> bool:
    """Return whether all tests may see a change of a file."""
    return path.startswith(EVERYTHING) or "/migrations/" in path


def _is_product(path: str) -> bool:
    return path.startswith(PACKAGES)


def _list_tests(known: _Known, path: str, base: str) -> Iterator[str]:
    """Yield the tests of a changed file, as pytest names them: tests, files."""
    if path.startswith("tests/"):
        yield from _list_tests_of_tests(known, path)
        return
    for begin, places in ROOMS.items():
        if path.startswith(begin):
            yield from (file for file in known.files if file.startswith(places))
    if path.endswith(".py") and _is_product(path):
        yield from _list_tests_of_module(known, path, base)
    elif path.startswith("templates/"):
        yield from known.find_runners(path.__eq__) or _list_room(known, "tests/web/")
    elif path.endswith(DATA) and _is_product(path):
        yield from _find_neighbours(known, path)


def _list_tests_of_tests(known: _Known, path: str) -> Iterator[str]:
    """Yield a changed file of tests; of another file there, the tests of its folder, or those that import it."""
    folder, _, name = path.rpartition("/")
    if path in known.files:
        yield path
    elif path.endswith(".py") and name != "conftest.py":
        yield from _list_importers(known, {_name_module(path)})
    elif folder != "tests":
        yield from _list_room(known, f"{folder}/")


def _list_tests_of_module(known: _Known, path: str, base: str) -> Iterator[str]:
    """Yield the tests that run a module; where more than bodies of functions changed, those that run who imports it."""
    module = _name_module(path)
    runners = known.find_runners(module.__eq__)
    yield from runners
    recorded = {test.partition("::")[0] for test in known.record.tests}
    importing = set(_list_importers(known, {module}))
    if runners and changes.is_inside_functions(known.root, base, path):
        yield from importing - recorded
        return
    yield from importing
    importers = {one for one in _list_modules(known.root) if module in _list_imports(known.root / _find_path(one))}
    yield from known.find_runners(importers.__contains__) or (() if runners else _find_neighbours(known, path))


def _find_neighbours(known: _Known, path: str) -> set[str]:
    """Return the tests that run a module of the same folder or, where there are none, of a folder above it."""
    for folder in Path(path).parents:
        begin = ".".join(folder.parts)
        found = known.find_runners(lambda module, begin=begin: module.startswith(f"{begin}."))  # type: ignore[misc]
        if found:
            return found
    return set()


def _list_room(known: _Known, folder: str) -> Iterator[str]:
    yield from (file for file in known.files if file.startswith(folder))


def _name_module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _find_path(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _list_modules(root: Path) -> Iterator[str]:
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def _list_importers(known: _Known, modules: set[str]) -> Iterator[str]:
    """Yield the files of tests that import one of these modules."""
    yield from (file for file in known.files if modules & _list_imports(known.root / file))


@cache
def _list_imports(path: Path) -> set[str]:
    """Return the modules, and names of modules, that a file imports."""
    if not path.exists():
        return set()
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def _fill(choice: Choice, known: _Known, names: Iterable[str], closest: Collection[str], *, is_whole: bool) -> None:
    """Put tests into a choice, those of chosen files not by themselves, and say what is left out.

    Those of the `closest` files, which import what changed, come before all others.
    """

    def rank(name: str) -> tuple[bool, bool, float, str]:
        is_close = name.partition("::")[0] in closest
        return not is_close, name.startswith(LAST) and not is_close, known.find_seconds(name), name

    left = {place: [name for name in names if name.startswith(place)] for place in APART}
    apart = {name for found in left.values() for name in found}
    files = {name for name in names if "::" not in name}
    chosen = [name for name in names if name not in apart and (name in files or name.partition("::")[0] not in files)]
    total = 0.0
    late: list[str] = []
    for name in sorted(chosen, key=rank):
        seconds = known.find_seconds(name)
        if not is_whole and total + seconds > MINUTE and choice.tests:
            late.append(name)
        else:
            choice.tests[name] = seconds
            total += seconds
    choice.sentences.append(f"{len(choice.tests)} tests and files of tests, {total:.0f} processor s.")
    if late:
        seconds = sum(map(known.find_seconds, late))
        sentence = f"Left out, because they take longer than a minute: {len(late)}, {seconds:.0f} processor s"
        choice.sentences.append(f"{sentence} (make t WHOLE=1 runs them, too).")
    choice.sentences += [f"Left out: {len(found)} of {APART[place]}." for place, found in left.items() if found]


def list_jobs(choice: Choice, depth: Depth) -> Iterator[Job]:
    """Yield one or two processes that run the chosen tests, on SQLite, files with the cheapest test first."""
    seconds: dict[str, float] = {}
    for name, one in choice.tests.items():
        file = name.partition("::")[0]
        seconds[file] = seconds.get(file, 0) + one
    order = list(seconds)
    for number, (files, total) in enumerate(deal(seconds, MINUTE / 2, most=2), 1):
        names = [name for name in choice.tests if name.partition("::")[0] in files]
        listed = RECORDS / f"touched-{number}.txt"
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
        marks = "not clients and not alone and not deep"
        command = ("python", "-m", "pytest", "-q", "-p", "no:xdist", "-m", marks, *sorted(files, key=order.index))
        # A test of the record that is gone by now is no mistake in a list, as it would be among the arguments.
        variables = {**depth.variables, "TEST_CHOICE": str(listed), "TEST_RECORDS": str(RECORDS / "touched"), **SQLITE}
        yield Job(f"touched {number}", command, variables, total)
