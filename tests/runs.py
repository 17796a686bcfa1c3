"""Which tests run where: the marks that `make check`, `make test` and `make test-all` choose by, and how deep they go.

A test without rows ends alike on every database, so it runs once, on SQLite. A test with rows runs on PostgreSQL, as
installations do; on SQLite, too, where its folder says that the database itself is what is tested, unless others let
the same functions speak to it (`spared`, see `.make/record.py`). The rest of them run on SQLite in `make test-all`, and
wherever there is no PostgreSQL.

Loaded as a plugin (see pyproject.toml): the profile has to be chosen before a test module is imported.
"""

import os
import random
from collections import defaultdict
from pathlib import Path

import pytest
import record
from hypothesis import HealthCheck, settings

from tests import depth

TESTS = Path(__file__).parent

#: Folders whose tests that a database has a part in run on both, and why.
BOTH = {
    "catalog": "SQL of our own: coverage, facets, search, closure, concurrency",
    "cdap": "SQL of grants, concurrency",
    "policies": "models, snapshot, bells, decision log, migrations",
    "site": "processes of an installation, and what its database is set to",
    "spec": "the rules, through what loads facts",
}
#: What runs on SQLite alone although it has rows, or a database of its own, and why.
SQLITE = {
    "api/test_fuzzing.py": "the shape of answers",
    "goldens": "what is compared was made there",
    "journeys/test_make_run.py": "starts its own installation, on SQLite",
    "limits": "the size and shape of bodies",
    "site/test_compose.py": "reads a file",
    "site/test_database_templates.py": "writes files",
    "site/test_early_bodies.py": "brings its own databases",
    "site/test_ends.py": "brings its own databases, on SQLite and PostgreSQL",
    "site/test_env.py": "reads variables",
    "site/test_killed_decisions.py": "brings its own database",
    "site/test_later_views.py": "asks no database but its own",
    "site/test_preload.py": "brings its own databases, on SQLite and PostgreSQL",
    "site/test_processes.py": "brings its own databases",
    "site/test_report_worker.py": "brings its own databases",
    "site/test_schedule.py": "reads what beat repeats",
    "site/test_serving.py": "brings its own databases",
    "site/test_settings.py": "starts processes that are told of no database",
    "site/test_start.py": "brings its own databases",
    "spark": "reads files",
}
#: What refuses no answer but those of a fault: nothing runs beside it.
ALONE = ("faults",)
#: What `make test-all` alone runs, and why.
DEEP = {"api/test_fuzzing.py": "finds in one run of ten what no other test finds; minutes long"}
#: What PostgreSQL or Redis have a part in without a fixture saying so.
POSTGRESQL = ("faults", "site")
#: What a run that leaves out a mark need not even read.
UNREAD = {
    "not clients": ("clients",),
    "not alone": ALONE,
    "not deep": tuple(DEEP),
    "not sqlite": tuple(SQLITE),
}
#: Folders whose tests start processes, or a browser.
SLOW = ("clients", "faults", "journeys", "site", "spark")
#: Other people's programs that `make test` runs, in their newest versions: the SDK, the command line, the SCIM tester.
SMOKE = (
    "clients/test_datahub_sdk.py",
    "clients/test_datahub_cli.py",
    "clients/test_datahub_cli_init.py",
    "clients/test_scim.py",
)
#: How many examples of a law are tried: by `make check`, `make test`, `make test-all`, and by whoever searches.
EXAMPLES = {"quick": 25, "usual": 50, "all": 300, "deep": 2000}
_SLOW_TO_DRAW = [HealthCheck.too_slow, HealthCheck.data_too_large]

for name, number in EXAMPLES.items():
    settings.register_profile(
        name, max_examples=number, deadline=None, database=None, suppress_health_check=_SLOW_TO_DRAW
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed of generated examples, unless one is given; every process of a run has the same."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = os.environ.get("TEST_SEED") or str(random.SystemRandom().randrange(2**32))


def pytest_report_header(config: pytest.Config) -> str:
    """Name what repeats the generated examples of this run, and in which look a browser looks for barriers."""
    return f"generated examples and looks at pages: --hypothesis-seed={config.option.hypothesis_seed}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file whose tests are left out by a mark of its folder: reading all of them takes each process seconds."""
    if not collection_path.is_relative_to(TESTS):
        return None
    place = collection_path.relative_to(TESTS).as_posix()
    unread = [places for words, places in UNREAD.items() if words in config.option.markexpr]
    return True if any(place.startswith(places) for places in unread) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test by its fixtures and its folder before tests are chosen by marks, or by the list of `make t`."""
    spared = record.read_spared()
    if chosen := os.environ.get("TEST_CHOICE"):
        names = set(Path(chosen).read_text(encoding="utf-8").split("\n"))
        others = [item for item in items if not {item.nodeid.partition(end)[0] for end in ("[", "::")} & names]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]
    if depth.DRAWS_CASES:
        drawn = draw_cases(items, config.option.hypothesis_seed)
        config.hook.pytest_deselected(items=[item for item in items if item not in drawn])
        items[:] = [item for item in items if item in drawn]
    for item in items:
        for mark in list_marks(item, find_place(item)):
            item.add_marker(mark)
        if item.nodeid in spared:
            item.add_marker("spared")


def draw_cases(items: list[pytest.Item], seed: str) -> set[pytest.Item]:
    """Return the items without those cases marked `drawn` whose turn comes in another run.

    The cases are those of one test; of a family with a name they are the modules, or the tests, that name it.
    """
    families: dict[tuple[str, int], dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        mark = item.get_closest_marker("drawn")
        if mark and not item.get_closest_marker("deep"):
            parts, family = (*mark.args, "")[:2]
            test = item.nodeid.partition("[")[0]
            case = item.nodeid if not family else test if mark in item.own_markers else test.partition("::")[0]
            families[family or test, parts][case].append(item)
    found = set(items)
    for (name, parts), cases in families.items():
        for case in set(cases) - set(depth.draw_part(list(cases), parts=parts, seed=f"{seed} {name}")):
            found -= set(cases[case])
    return found


def list_marks(item: pytest.Item, place: str) -> list[str]:
    """Return the marks of a test in a file below the folder of tests."""
    has_rows = bool(item.get_closest_marker("django_db")) or bool(
        {"db", "transactional_db", "django_db_setup"} & set(getattr(item, "fixturenames", ()))
    )
    is_slow = has_rows or place.startswith(SLOW) or bool(item.get_closest_marker("browser"))
    is_deep = place.startswith(tuple(DEEP)) or bool(item.get_closest_marker("deep"))
    found = {
        "database": has_rows or place.startswith(POSTGRESQL),
        "both": is_on_both(place) and not item.get_closest_marker("on_postgresql"),
        "fast": not is_slow and not is_deep,
        "clients": place.startswith("clients/"),
        "deep": is_deep,
        "smoke": place.startswith(SMOKE) and not is_deep,
        "sqlite": place.startswith(tuple(SQLITE)),
        "alone": place.startswith(ALONE),
    }
    return [mark for mark, is_meant in found.items() if is_meant]


def find_place(item: pytest.Item) -> str:
    """Return the path of the file of a test below the folder of tests."""
    return item.path.relative_to(TESTS).as_posix()


def is_on_both(place: str) -> bool:
    """Return whether tests with rows at this place run on both databases."""
    return place.partition("/")[0] in BOTH
