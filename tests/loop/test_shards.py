"""Files are dealt to processes: each once, and in even parts."""

from hypothesis import given
from hypothesis import strategies as st
from record import Record
from shards import READING_SECONDS, UNKNOWN_SECONDS, deal, estimate_seconds

SECONDS = st.dictionaries(st.integers(0, 400).map("tests/test_{}.py".format), st.floats(0.1, 300))


@given(SECONDS, st.integers(1, 9) | st.none())
def test_each_file_is_dealt_once_with_its_seconds(seconds, most):
    shards = deal(seconds, most=most)
    assert sorted(file for files, _ in shards for file in files) == sorted(seconds)
    assert all(abs(total - sum(seconds[file] for file in files)) < 1e-6 for files, total in shards)
    assert most is None or len(shards) <= most


@given(SECONDS)
def test_no_process_takes_longer_than_the_shortest_and_its_shortest_file(seconds):
    shards = deal(seconds)
    least = min((total for _, total in shards), default=0)
    assert all(total - min(seconds[file] for file in files) <= least + 1e-6 for files, total in shards)


def test_a_file_that_a_stage_has_no_test_of_is_only_read():
    record = Record(seconds={"sqlite": {"tests/a.py": 7.0}, "postgresql": {"tests/b.py": 2.0}})
    assert estimate_seconds(["tests/a.py", "tests/b.py", "tests/new.py"], record, "sqlite") == {
        "tests/a.py": READING_SECONDS + 7,
        "tests/b.py": READING_SECONDS,
        "tests/new.py": READING_SECONDS + UNKNOWN_SECONDS,
    }
