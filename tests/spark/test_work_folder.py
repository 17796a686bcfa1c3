"""Files between driver and partitions: whole or not there, and from the computation itself or refused."""

import pickle
from pathlib import Path

import pytest

from catalog.reports.spark.work_folder import ForgedWork, WorkFolder, open_work_folder


@pytest.fixture
def work(tmp_path: Path) -> WorkFolder:
    return WorkFolder(tmp_path.as_uri(), bytes(32))


def test_values_come_back_and_a_second_attempt_replaces_the_first(work: WorkFolder):
    work.write("0", [1])
    work.write("0", [{"a": (b"x", None)}])
    assert work.list_names() == {"0"}
    assert work.read("0") == [{"a": (b"x", None)}]
    work.delete("0")
    assert work.list_names() == set()


def test_what_is_still_written_is_not_there(work: WorkFolder, tmp_path: Path):
    (tmp_path / "0.abc.part").write_bytes(b"half")
    assert work.list_names() == set()
    with pytest.raises(FileNotFoundError):
        work.read("0")


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_what_others_write_is_never_unpickled(work: WorkFolder, tmp_path: Path):
    trace = tmp_path / "ran"
    (tmp_path / "0").write_bytes(bytes(32) + pickle.dumps(Bomb(trace)))
    with pytest.raises(ForgedWork, match="was changed"):
        work.read("0")
    assert not trace.exists()


def test_a_file_of_one_name_is_none_of_another(work: WorkFolder, tmp_path: Path):
    work.write("0", [1])
    (tmp_path / "0").rename(tmp_path / "1")
    with pytest.raises(ForgedWork):
        work.read("1")


def test_nothing_is_left_of_a_folder(tmp_path: Path):
    with open_work_folder(tmp_path.as_uri()) as work:
        work.write("0", [1])
        assert len(list(tmp_path.rglob("*"))) == 2
    assert list(tmp_path.iterdir()) == []
