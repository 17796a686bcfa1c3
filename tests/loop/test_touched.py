"""`make t` chooses the tests that a change can break, and says what it leaves out."""

import subprocess
from pathlib import Path

import pytest
import record
import touched
from record import Record
from stages import Depth

ROOT = Path(__file__).parents[2]

TESTS = {
    "tests/api/test_shops.py::test_shop": (2.0, {"catalog.shop", "catalog.store"}),
    "tests/api/test_shops.py::test_label": (1.0, {"catalog.shop"}),
    "tests/web/test_pages.py::test_page": (1.0, {"catalog.pages", "templates/shop.html"}),
    "tests/journeys/test_visit.py::test_visit": (0.5, {"catalog.shop", "catalog.pages"}),
    "tests/faults/test_cut.py::test_cut": (9.0, {"catalog.shop"}),
    "tests/spark/test_far.py::test_far": (9.0, {"catalog.reports.kinds.far.job"}),
}
FILES = {
    "catalog/shop.py": "from catalog.names import NAME\n\ndef sell():\n    return NAME\n",
    "catalog/names.py": "NAME = 'shop'\n",
    "catalog/store.py": "def keep():\n    return 1\n",
    "catalog/lonely.py": "def sit():\n    return 0\n",
    "catalog/pages.py": "def show():\n    return 'page'\n",
    "catalog/reports/kinds/far/job.py": "def go():\n    return 1\n",
    "catalog/reports/kinds/far/rows.sql": "SELECT 1\n",
    "policies/none.py": "def nobody():\n    return 0\n",
    "policies/migrations/0001_first.py": "",
    "templates/shop.html": "<p>",
    "tests/conftest.py": "",
    "tests/worlds.py": "",
    "tests/web/conftest.py": "",
    "tests/api/test_worlds.py": "from tests import worlds\n\ndef test_world():\n    pass\n",
    **{test.partition("::")[0]: "def test_it():\n    pass\n" for test in TESTS},
}


@pytest.fixture
def tree(tmp_path):
    """A checkout with its upstream, and the record of its tests."""

    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments], cwd=tmp_path, check=True
        )

    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    known = Record({}, {test: (seconds, frozenset(modules)) for test, (seconds, modules) in TESTS.items()})
    record.write_record(known, tmp_path / "tests" / "record.json")
    git("init", "--quiet", "--initial-branch", "main")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    git("branch", "there")
    git("branch", "--quiet", "--set-upstream-to", "there")
    return tmp_path, git


def change(tree, path: str, text: str) -> None:
    (tree[0] / path).write_text(text)


def choose(tree, **how) -> list[str]:
    choice = touched.choose(tree[0], **how)
    assert not choice.problem
    return list(choice.tests)


def test_a_changed_function_brings_the_tests_that_run_its_module_cheapest_first_and_browsers_last(tree):
    change(
        tree, "catalog/shop.py", FILES["catalog/shop.py"].replace("NAME\n", "NAME.upper()\n").replace(".upper()", "", 1)
    )
    change(tree, "catalog/shop.py", FILES["catalog/shop.py"].replace("return NAME", "return NAME * 2"))
    assert choose(tree) == [
        "tests/api/test_shops.py::test_label",
        "tests/api/test_shops.py::test_shop",
        "tests/journeys/test_visit.py::test_visit",
    ]


def test_what_is_committed_on_main_counts_until_it_is_upstream(tree):
    change(tree, "catalog/store.py", "def keep():\n    return 2\n")
    tree[1]("commit", "--quiet", "--all", "--message", "second")
    assert choose(tree) == ["tests/api/test_shops.py::test_shop"]
    tree[1]("branch", "--force", "there", "HEAD")
    assert choose(tree) == []
    assert choose(tree, since="HEAD~1") == ["tests/api/test_shops.py::test_shop"]


def test_an_unknown_commit_is_a_problem(tree):
    assert touched.choose(tree[0], since="nowhere").problem == "git knows no commit 'nowhere' (SINCE)"


def test_a_constant_brings_the_tests_of_the_modules_that_import_it(tree):
    change(tree, "catalog/names.py", "NAME = 'store'\n")
    assert "tests/api/test_shops.py::test_label" in choose(tree)


def test_a_module_that_nothing_runs_brings_the_tests_of_its_room(tree):
    change(tree, "catalog/lonely.py", "def sit():\n    return 1\n")
    assert {"tests/api/test_shops.py::test_shop", "tests/web/test_pages.py::test_page"} <= set(choose(tree))


def test_no_test_for_a_module_is_a_problem(tree):
    change(tree, "policies/none.py", "def nobody():\n    return 1\n")
    assert touched.choose(tree[0]).problem == "no test is known for policies/none.py"


@pytest.mark.parametrize("path", ["policies/migrations/0001_first.py", "tests/conftest.py", "pyproject.toml"])
def test_what_all_stand_on_brings_everything(tree, path):
    change(tree, path, "# changed\n")
    assert set(choose(tree)) == {path for path in FILES if "test_" in path and "faults" not in path}


def test_a_template_brings_the_tests_that_render_it(tree):
    change(tree, "templates/shop.html", "<p></p>")
    assert choose(tree) == ["tests/web/test_pages.py::test_page"]


def test_a_file_of_sql_brings_the_tests_of_its_neighbours(tree):
    change(tree, "catalog/reports/kinds/far/rows.sql", "SELECT 2\n")
    assert "tests/spark/test_far.py::test_far" in choose(tree)


def test_a_file_of_tests_brings_itself_and_a_helper_those_that_import_it(tree):
    change(tree, "tests/web/test_pages.py", "def test_it():\n    assert 1\n")
    change(tree, "tests/worlds.py", "# changed\n")
    assert set(choose(tree)) == {"tests/web/test_pages.py", "tests/api/test_worlds.py"}


def test_a_conftest_of_a_folder_brings_its_folder(tree):
    change(tree, "tests/web/conftest.py", "# changed\n")
    assert choose(tree) == ["tests/web/test_pages.py"]


def test_the_file_that_imports_what_changed_comes_first(tree):
    change(tree, "tests/journeys/test_visit.py", "from catalog import shop\n\ndef test_it():\n    pass\n")
    tree[1]("commit", "--quiet", "--all", "--message", "second")
    change(tree, "catalog/shop.py", FILES["catalog/shop.py"].replace("return NAME", "return NAME * 2"))
    assert next(iter(choose(tree, since="HEAD"))) == "tests/journeys/test_visit.py::test_visit"


def test_what_takes_longer_than_a_minute_is_left_out_and_counted(tree, monkeypatch):
    monkeypatch.setattr(touched, "MINUTE", 2.0)
    change(tree, "catalog/shop.py", "def sell():\n    return 3\n")
    choice = touched.choose(tree[0])
    assert list(choice.tests) == ["tests/api/test_shops.py::test_label", "tests/journeys/test_visit.py::test_visit"]
    assert any("Left out, because they take longer than a minute: 1" in sentence for sentence in choice.sentences)
    assert any(sentence == "Left out: 1 of faults (make test)." for sentence in choice.sentences)
    assert len(choose(tree, is_whole=True)) == 3


def test_the_tables_name_what_is_there():
    for begin, tests in {
        **touched.ROOMS,
        **dict.fromkeys(touched.EVERYTHING, ()),
        **dict.fromkeys(touched.APART, ()),
    }.items():
        assert all((ROOT / place).exists() for place in (begin, *tests)), (begin, tests)


def test_two_processes_run_the_choice_and_read_it_from_files(tree, monkeypatch, tmp_path):
    monkeypatch.setattr(touched, "RECORDS", tmp_path / "records")
    monkeypatch.setattr(touched, "MINUTE", 4.0)
    change(tree, "catalog/shop.py", "def sell():\n    return 3\n")
    found = list(touched.list_jobs(touched.choose(tree[0], is_whole=True), Depth()))
    listed = [line for number in (1, 2) for line in (tmp_path / f"records/touched-{number}.txt").read_text().split()]
    assert len(found) == 2
    assert sorted(listed) == sorted(choose(tree, is_whole=True))
