"""Every rule of Datazone is named by a test or by a section of the tables."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
RULES = [f"DZ-{number}" for number in range(1, 72)]

#: A name of a test, or the heading of a section that tests run.
_NAMES = re.compile(r"^(?:def (test_\w*dz_\w*)|## (.*DZ-.*))", re.MULTILINE)
_RANGE = re.compile(r"dz[_-](\d+)(?:_to_dz_(\d+))?", re.IGNORECASE)


def named() -> set[str]:
    """Return the rules that tests name; `dz_1_to_dz_3` names three."""
    found: set[str] = set()
    for path in [*TESTS.rglob("test_*.py"), *(TESTS / "spec" / "datazone").glob("*.md")]:
        for groups in _NAMES.findall(path.read_text(encoding="utf-8")):
            for first, last in _RANGE.findall("".join(groups)):
                found |= {f"DZ-{number}" for number in range(int(first), int(last or first) + 1)}
    return found


@pytest.mark.parametrize("rule", RULES)
def test_a_test_names_the_rule(rule: str) -> None:
    assert rule in named()
