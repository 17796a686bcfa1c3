"""Every runner gives the answers of the specification."""

import pytest

from tests.spec.runners import RUNNERS
from tests.spec.tables import Section


def test_answers_are_those_of_the_table(section: Section, runner: str, request: pytest.FixtureRequest):
    chosen = RUNNERS[runner]
    rows = [row for row in section.rows if chosen.able(section.world, row.asked)]
    answers = chosen.answer(section.world, [row.asked for row in rows], request)
    wrong = []
    for row, answer in zip(rows, answers, strict=True):
        differing = {
            column: answer[column] for column, cell in row.expected.items() if answer.get(column, cell) != cell
        }
        if differing:
            wrong.append(f"{row.text}\n    but {runner} says {differing}")
    assert not wrong, f"{section.name} ({section.source})\n" + "\n".join(wrong)
