"""The record of tests: its file loses nothing, and tests are spared on SQLite only where others stand in."""

from collections import Counter

import record
from hypothesis import given
from hypothesis import strategies as st
from record import Line, Record

FUNCTIONS = [f"catalog.shop:{letter}" for letter in "abcdefgh"]
NAMES = st.builds("tests/{}/test_{}.py::test_{}".format, *[st.sampled_from("xyz")] * 3)


def make_line(name, *spoke, stage="sqlite", seconds=1.0, **more):
    return Line(name, stage, seconds, seconds, "passed", **{"is_on_both": True, "spoke": frozenset(spoke), **more})


@st.composite
def draw_lines(draw):
    """Tests that run on both databases and let some functions speak."""
    names = draw(st.sets(st.sampled_from([f"tests/shop/test_one.py::test_it[{n}]" for n in range(40)]), max_size=40))
    return [
        make_line(name, *draw(st.sets(st.sampled_from(FUNCTIONS))), seconds=draw(st.floats(0, 9, width=16)))
        for name in sorted(names)
    ]


@given(draw_lines())
def test_each_function_that_speaks_is_run_five_times_or_as_often_as_it_can_be(lines):
    chosen = record.choose_speakers(lines)
    possible = Counter(function for line in lines for function in line.spoke)
    found = Counter(function for line in lines if line.id in chosen for function in line.spoke)
    assert all(found[function] >= min(record.TESTS_OF_SPEAKERS, count) for function, count in possible.items())


@given(draw_lines())
def test_what_is_left_on_sqlite_passes_the_judgment_of_a_run(lines):
    spared = record.make_record(lines).spared
    on_postgresql = [make_line(line.id, *line.spoke, stage="postgresql") for line in lines]
    on_sqlite = [line for line in lines if line.id not in spared]
    assert record.find_uncovered([*on_sqlite, *on_postgresql], {}) == {}


def test_the_cheap_test_is_kept_and_the_dear_ones_are_spared():
    dear = [make_line(f"tests/a.py::test_dear[{number}]", "m:f", seconds=9) for number in range(5)]
    cheap = [make_line(f"tests/a.py::test_cheap[{number}]", "m:f", seconds=1) for number in range(5)]
    assert record.make_record([*dear, *cheap]).spared == {line.id for line in dear}


def test_a_test_that_was_not_seen_to_speak_is_never_spared():
    assert record.make_record([make_line("tests/a.py::test_of_processes")]).spared == frozenset()


def test_a_test_of_one_database_is_never_spared():
    lines = [make_line(f"tests/a.py::test_{number}", "m:f", is_on_both=False) for number in range(9)]
    assert record.make_record(lines).spared == frozenset()


def test_a_function_that_speaks_to_postgresql_alone_is_named():
    lines = [make_line(f"tests/a.py::test_{number}", "m:f", stage="postgresql") for number in range(2)]
    assert record.find_uncovered(lines, {}) == {"m:f": 2}
    assert record.find_uncovered(lines[:1], {}) == {}
    assert record.find_uncovered([*lines, make_line("tests/a.py::test_0", "m:f")], {}) == {}


def test_a_function_of_postgresql_alone_is_known_from_a_run_of_all_tests():
    lines = [make_line(f"tests/a.py::test_{number}", "m:f", stage="postgresql") for number in range(2)]
    assert record.make_record(lines).fewest == {"m:f": 2}
    assert record.find_uncovered(lines, {"m:f": 0}) == {}


@given(
    st.dictionaries(NAMES, st.tuples(st.integers(0, 99).map(float), st.frozensets(st.sampled_from(FUNCTIONS)))),
    st.frozensets(NAMES),
)
def test_the_file_gives_back_what_was_written(tmp_path_factory, tests, spared):
    file = tmp_path_factory.mktemp("record") / "record.json"
    written = Record({"sqlite": {"tests/a.py": 3.0}}, tests, spared, {"catalog.shop:a": 2})
    record.write_record(written, file)
    assert record.read_record(file) == written
    assert record.read_spared(file) == spared


def test_a_record_has_the_cases_of_a_test_together_and_its_stages_apart():
    lines = [
        make_line("tests/a.py::test_it[1]", seconds=1, functions=frozenset({"m:f"})),
        make_line("tests/a.py::test_it[2]", seconds=2, functions=frozenset({"n:g"}), templates=frozenset({"t.html"})),
        make_line("tests/a.py::test_it[2]", seconds=4, stage="postgresql"),
    ]
    made = record.make_record(lines)
    assert made.seconds == {"sqlite": {"tests/a.py": 3.0}, "postgresql": {"tests/a.py": 4.0}}
    assert made.tests == {"tests/a.py::test_it": (4.0, frozenset({"m", "n", "t.html"}))}


def test_lines_are_read_with_the_stage_of_their_folder(tmp_path):
    (tmp_path / "sqlite").mkdir()
    (tmp_path / "sqlite" / "1.jsonl").write_text(
        '{"id":"tests/a.py::test_it","seconds":0.5,"clock":1.0,"outcome":"passed","is_on_both":true,"spoke":["m:f"]}\n'
    )
    assert list(record.read_lines(tmp_path)) == [
        Line("tests/a.py::test_it", "sqlite", 0.5, 1.0, "passed", is_on_both=True, spoke=frozenset({"m:f"}))
    ]


def test_without_a_file_nothing_is_known(tmp_path):
    assert record.read_record(tmp_path / "none.json") == Record()
    assert record.read_spared(tmp_path / "none.json") == frozenset()
