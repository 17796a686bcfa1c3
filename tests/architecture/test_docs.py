"""Pages of the docs that are written from something else are what it says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_sources_is_what_the_decision_tables_say() -> None:
    found = subprocess.run(
        [sys.executable, str(ROOT / ".make" / "sources.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
