"""What earlier runs of all tests have shown: how long files take, what each test runs, and which need no SQLite.

`make test-all` writes the file, `make test` deals files to processes by it, `make t` chooses tests by it, and
`tests/runs.py` reads which tests are left out on SQLite. A test that is not in it runs everywhere.
"""

import base64
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "record.json"
#: On SQLite each function that speaks to a database is run by so many tests, or by all that run it if these are fewer.
TESTS_OF_SPEAKERS = 5


@dataclass(frozen=True, slots=True)
class Line:
    """What one test took and ran in one stage, as `tests/records.py` writes it."""

    id: str
    stage: str
    seconds: float
    clock: float
    outcome: str
    is_on_both: bool = False
    functions: frozenset[str] = frozenset()
    spoke: frozenset[str] = frozenset()
    templates: frozenset[str] = frozenset()

    @property
    def file(self) -> str:
        """The path of the file of the test."""
        return self.id.partition("::")[0]

    @property
    def function(self) -> str:
        """The test without the values that it was given: all of its cases are chosen together."""
        return self.id.partition("[")[0]


def read_lines(folder: Path) -> Iterator[Line]:
    """Yield what the processes of a run have written; the folders in it are named for the stages."""
    for path in sorted(folder.glob("*/*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                fields: dict[str, Any] = json.loads(line)
                fields |= {name: frozenset(fields.get(name, ())) for name in ("functions", "spoke", "templates")}
                yield Line(stage=path.parent.name, **fields)


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of tests from runs.

    `seconds`: processor seconds by stage and file. `tests`: by test, its seconds and the modules and templates it runs.
    `spared`: the tests whose database is PostgreSQL alone, although their folder runs on both. `fewest`: functions that
    no test lets speak to SQLite even when all of them run: statements of PostgreSQL alone.
    """

    seconds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    tests: Mapping[str, tuple[float, frozenset[str]]] = field(default_factory=dict)
    spared: frozenset[str] = frozenset()
    fewest: Mapping[str, int] = field(default_factory=dict)


def make_record(lines: Iterable[Line]) -> Record:
    """Make the record of a run with traces, of every test on both databases.

    A test that was not seen to speak to a database is not spared: the processes that it starts may do so.
    """
    seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    tests: dict[str, tuple[float, frozenset[str]]] = {}
    all_lines = list(lines)
    both: list[Line] = []
    for line in all_lines:
        seconds[line.stage][line.file] += line.seconds
        modules = frozenset(function.partition(":")[0] for function in line.functions) | line.templates
        before, known = tests.get(line.function, (0.0, frozenset()))
        tests[line.function] = (max(before, line.seconds) if known else line.seconds, known | modules)
        if line.stage == "sqlite" and line.is_on_both and line.spoke:
            both.append(line)
    spared = frozenset({line.id for line in both} - choose_speakers(both))
    return Record(seconds, tests, spared, find_uncovered(all_lines, {}))


def choose_speakers(lines: Iterable[Line]) -> set[str]:
    """Return tests that together run each function that speaks to a database TESTS_OF_SPEAKERS times, cheap ones first.

    The cheapest test of each rare function is taken before those of common ones, which it may run as well.
    """
    by_function: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        for function in line.spoke:
            by_function[function].append(line)
    counts: dict[str, int] = defaultdict(int)
    chosen: set[str] = set()
    for function, candidates in sorted(by_function.items(), key=lambda entry: (len(entry[1]), entry[0])):
        # A test that speaks through more functions which are still wanting is worth more of its seconds.
        for line in sorted(candidates, key=lambda line: (line.seconds / len(line.spoke), line.id)):
            if counts[function] >= TESTS_OF_SPEAKERS:
                break
            if line.id not in chosen:
                chosen.add(line.id)
                for spoken in line.spoke:
                    counts[spoken] += 1
    return chosen


def find_uncovered(lines: Iterable[Line], fewest: Mapping[str, int]) -> dict[str, int]:
    """Return the functions that no test of a whole run lets speak to SQLite, with how many let them to PostgreSQL.

    Only tests that may run on both databases count, and only functions that two of them run: what a law draws may be
    reached on one database alone. `fewest` has the functions that no test lets speak to SQLite.
    """
    speakers: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for line in lines:
        if line.is_on_both and line.outcome == "passed":
            for function in line.spoke:
                speakers[function][line.stage].add(line.id)
    return {
        function: len(stages["postgresql"])
        for function, stages in sorted(speakers.items())
        if not stages["sqlite"] and len(stages["postgresql"]) > 1 and function not in fewest
    }


def write_record(record: Record, file: Path = FILE) -> None:
    """Write a record as a file whose lines change where tests do.

    What a test runs is a set of bits over the list `modules`; tests that run the same share one entry of `sets`.
    """
    modules = sorted({module for _, found in record.tests.values() for module in found})
    places = {module: place for place, module in enumerate(modules)}
    sets = sorted({_pack(found, places) for _, found in record.tests.values()})
    numbers = {packed: number for number, packed in enumerate(sets)}
    files: dict[str, dict[str, list[float]]] = defaultdict(dict)
    for test, (taken, found) in sorted(record.tests.items()):
        file_name, _, name = test.partition("::")
        files[file_name][name] = [round(taken, 2), numbers[_pack(found, places)]]
    spared: dict[str, list[str]] = defaultdict(list)
    for test in sorted(record.spared):
        file_name, _, name = test.partition("::")
        spared[file_name].append(name)
    seconds = {stage: {path: round(one, 1) for path, one in sorted(of.items())} for stage, of in record.seconds.items()}
    parts = {"seconds": seconds, "spared": spared, "fewest": record.fewest, "tests": files}
    parts |= {"modules": modules, "sets": sets}
    file.write_text(_write_lines(parts), encoding="utf-8")


def _write_lines(parts: dict[str, Any]) -> str:
    """Return JSON with a line for each entry of each part."""

    def write(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    texts = []
    for name, part in parts.items():
        is_list = isinstance(part, list)
        lines = [write(one) for one in part] if is_list else [f"{write(key)}:{write(one)}" for key, one in part.items()]
        texts.append(f'"{name}":{"[" if is_list else "{"}\n' + ",\n".join(lines) + ("\n]" if is_list else "\n}"))
    return "{" + ",\n".join(texts) + "}\n"


def read_record(file: Path = FILE) -> Record:
    """Read a record; an empty one where no file is."""
    if not file.exists():
        return Record()
    parts = json.loads(file.read_text(encoding="utf-8"))
    sets = [_unpack(packed, parts["modules"]) for packed in parts["sets"]]
    tests = {
        f"{path}::{name}": (seconds, sets[number])
        for path, functions in parts["tests"].items()
        for name, (seconds, number) in functions.items()
    }
    return Record(parts["seconds"], tests, _read_spared(parts), parts["fewest"])


def read_spared(file: Path = FILE) -> frozenset[str]:
    """Read which tests need no SQLite."""
    return _read_spared(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else frozenset()


def _read_spared(parts: dict[str, Any]) -> frozenset[str]:
    return frozenset(f"{path}::{name}" for path, names in parts["spared"].items() for name in names)


def _pack(modules: Iterable[str], places: Mapping[str, int]) -> str:
    bits = sum(1 << places[module] for module in modules)
    return base64.b85encode(bits.to_bytes((len(places) + 7) // 8, "little")).decode()


def _unpack(packed: str, modules: list[str]) -> frozenset[str]:
    bits = int.from_bytes(base64.b85decode(packed), "little")
    return frozenset(module for place, module in enumerate(modules) if bits >> place & 1)
