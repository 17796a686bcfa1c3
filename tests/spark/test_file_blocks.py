"""Lines of files that Spark reads in blocks: their numbers, and files whose first line is another header."""

from typing import Any

import pytest

from catalog.reports.kinds.role_mapping_check.blocks import Block, LineNumbers, find_other_headers

#: Each task of Spark numbers its lines from a multiple of this.
TASK = 1 << 33


def block(file: str | None, start: int | None, first: int | None, last: int | None, **more: Any) -> Block:
    columns = {"export": "e", "what": "GRANT", "count": 1, "first_headed": None}
    return {**columns, "file": file, "block": start, "first": first, "last": last, **more}


def test_lines_count_from_the_start_of_the_file_whatever_is_in_a_block() -> None:
    blocks = [
        block("a.csv", 1000, TASK + 3, TASK + 9),
        block("a.csv", 0, 1, 40),
        # Rows of other kinds of the same blocks, the header among them.
        block("a.csv", 0, 0, 0, what="NO_ROW"),
        block("a.csv", 1000, TASK, TASK + 7, what="BAD"),
        block("a.csv", 0, 5 * TASK, 5 * TASK, export="other"),
        # Facts that are of no line.
        block(None, None, None, None, what="PLACE"),
    ]
    rows = [
        {"export": export, "file": "a.csv", "block": start, "line": line, "text": "t"}
        for export, start, line in [("other", 0, 5 * TASK), ("e", 1000, TASK + 9), ("e", 0, 1), ("e", 1000, TASK)]
    ]
    numbered = LineNumbers(blocks).number_rows(rows)
    assert [(row["export"], row["file"], row["line"]) for row in numbered] == [
        ("e", "a.csv", 2),
        ("e", "a.csv", 42),
        ("e", "a.csv", 51),
        ("other", "a.csv", 1),
    ]
    assert {row["text"] for row in numbered} == {"t"}


def test_files_have_the_names_that_people_gave_them() -> None:
    path = "my%205%25+%C3%A9.csv"
    row = {"export": "e", "file": path, "block": 0, "line": 1}
    assert LineNumbers([block(path, 0, 0, 1)]).find_place(row) == ("my 5%+é.csv", 2)


def starts(file: str, *, is_header: bool, export: str = "e") -> list[Block]:
    """Return the blocks of a file whose first line is the header of its export, or a row of it."""
    rows = block(file, 0, 0, 8, export=export, first_headed=1 if is_header else 0)
    header = block(file, 0, 0, 0, export=export, what="NO_ROW", first_headed=0 if is_header else 4)
    return [rows, header, block(file, 1000, TASK, TASK + 5, export=export, first_headed=TASK)]


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([*starts("a.csv", is_header=True), *starts("b.csv", is_header=True)], {}),
        ([block("a.json", 0, 0, 8)], {}),
        ([], {}),
        ([*starts("b.csv", is_header=False)], {"e": ("b.csv", "")}),
        ([*starts("b.csv", is_header=False), *starts("a.csv", is_header=True, export="other")], {"e": ("b.csv", "")}),
        (
            [*starts("b.csv", is_header=False), *starts("c.csv", is_header=False, export="other")],
            {"e": ("b.csv", ""), "other": ("c.csv", "")},
        ),
        (
            [
                *starts("z%202.csv", is_header=False),
                *starts("grants 2.csv", is_header=False),
                *starts("users 2.csv", is_header=True),
                *starts("grants 1.csv", is_header=True),
            ],
            {"e": ("grants 2.csv", "grants 1.csv")},
        ),
    ],
)
def test_the_first_file_with_another_header_is_named_beside_the_most_similar_one(
    blocks: list[Block], expected: dict[str, tuple[str, str]]
) -> None:
    assert find_other_headers(blocks) == expected
