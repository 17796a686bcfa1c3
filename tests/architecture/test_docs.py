"""Pages of the docs that are written from something else are what it says."""

import subprocess
import sys
from pathlib import Path
from textwrap import indent

from catalog.warehouses.scripts import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_sources_is_what_the_decision_tables_say() -> None:
    found = subprocess.run(
        [sys.executable, str(ROOT / ".make" / "sources.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def test_the_page_of_a_warehouse_has_the_queries_that_its_script_has() -> None:
    for name, script in SCRIPTS.items():
        page = (ROOT / "docs" / "warehouses" / f"{name}.md").read_text(encoding="utf-8")
        for layout, query in script.list_queries().items():
            assert f"### {layout}\n\n{indent(query, '    ')}\n" in page, layout
            assert script.render().count(query) == 1, layout
