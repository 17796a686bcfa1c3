"""Turns every section of the specification into one test per runner that can run it."""

from pathlib import Path

import pytest

from tests.spec.runners import RUNNERS
from tests.spec.tables import Section, chapters

SECTIONS = tuple(chapters(Path(__file__).parent))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `section` and `runner` their values."""
    if {"section", "runner"} <= set(metafunc.fixturenames):
        pairs = [(section, runner) for section in SECTIONS for runner in RUNNERS if _can_run(section, runner)]
        cases = [
            pytest.param(section, runner, id=f"{section.name} [{runner}]", marks=RUNNERS[runner].marks)
            for section, runner in pairs
        ]
        metafunc.parametrize(("section", "runner"), cases)


def _can_run(section: Section, runner: str) -> bool:
    is_named = section.runners is None or runner in section.runners
    return is_named and any(RUNNERS[runner].able(section.world, row.asked) for row in section.rows)
