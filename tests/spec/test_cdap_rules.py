"""Every rule of CDAP is named by a test or by a section of the tables."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
#: From 23 to 29 there are none.
RULES = [f"CD-{number}" for number in (*range(1, 23), *range(30, 103))]

#: A name of a test, or the heading of a section that tests run.
_NAMES = re.compile(r"^(?:def (test_\w*cd_\w*)|## (.*CD-.*))", re.MULTILINE)


def named() -> set[str]:
    """Return the rules that tests name."""
    found: set[str] = set()
    for path in [*TESTS.rglob("test_*.py"), *(TESTS / "spec" / "cdap").glob("*.md")]:
        for groups in _NAMES.findall(path.read_text(encoding="utf-8")):
            found |= {f"CD-{number}" for number in re.findall(r"cd[_-](\d+)", "".join(groups), re.IGNORECASE)}
    return found


@pytest.mark.parametrize("rule", RULES)
def test_a_test_names_the_rule(rule: str) -> None:
    assert rule in named()
