"""What databases of tests are copied from is made once, whole, and again when one of its files has changed."""

import os
import threading
import time
from pathlib import Path

import caches
import pytest

from tests import database_templates
from tests.database_templates import KEPT_SECONDS, hash_sources, provide_folder


def list_templates() -> set[str]:
    return {folder.name for folder in (caches.find_caches() / "databases").iterdir() if folder.is_dir()}


@pytest.fixture(autouse=True)
def _empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_those_who_start_together_make_it_once() -> None:
    beginning, made = threading.Barrier(4), list[Path]()

    def make(folder: Path) -> None:
        made.append(folder)
        (folder / "file").write_text("whole")

    def provide() -> None:
        beginning.wait()
        assert (provide_folder("one", make) / "file").read_text() == "whole"

    threads = [threading.Thread(target=provide) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert list_templates() == {"one"}


def test_what_was_not_made_to_the_end_is_made_again() -> None:
    def fail(folder: Path) -> None:
        (folder / "file").write_text("half")
        raise OSError

    with pytest.raises(OSError, match=r"^$"):
        provide_folder("one", fail)
    assert list(provide_folder("one", lambda _: None).iterdir()) == []


def test_what_nobody_uses_is_removed_when_another_one_is_made() -> None:
    for name, age in (("old", KEPT_SECONDS + 60), ("used", 60)):
        at = time.time() - age
        os.utime(provide_folder(name, lambda _: None), (at, at))
    provide_folder("new", lambda _: None)
    assert list_templates() == {"new", "used"}


def test_a_change_of_a_file_makes_another_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(database_templates, "PROJECT", tmp_path)
    names = []
    for path, content in (("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        (tmp_path / path).write_text(content)
        hash_sources.cache_clear()
        names.append(hash_sources("*.py"))
    hash_sources.cache_clear()
    assert len(set(names)) == 3


def test_every_part_that_an_installation_is_made_from_has_files() -> None:
    for pattern in database_templates.OF_INSTALLATIONS:
        assert list(database_templates.PROJECT.glob(pattern)), pattern
