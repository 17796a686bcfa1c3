"""Writes docs/sources.md: each decided rule, where it comes from, and the decision table that tests it.

With ``--check`` it writes nothing and fails when the page is not what the tables say.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "sources.md"

HEAD = """# Where each rule comes from

Each line is a section of a decision table in `tests/spec/`: worlds and policies in their published JSON, a question a
row, and the answer with the policies that decide. Every row is asked of the engine, of the bitmaps, of a naive oracle
that shares no code, and over HTTP. "Rules" are the numbered pages the product was built from, "source" the published
documents they number.

This page is written by `python .make/sources.py` from the tables; a test keeps it true.
"""


def sections(chapter: Path) -> Iterator[tuple[str, str]]:
    """Return the title and source of each section of a chapter; the chapter's own come first.

    A section without a source line names its rule in the title.
    """
    title, source = "", ""
    for line in chapter.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            if title:
                yield title, source
            title, source = line.lstrip("# "), ""
        elif line.startswith("Source: "):
            source = line.removeprefix("Source: ").replace("|", "\\|")
    yield title, source


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for chapter in sorted((ROOT / "tests" / "spec").rglob("*.md")):
        (title, source), *rest = sections(chapter)
        rows = "".join(f"| {name} | {where} |\n" for name, where in rest)
        parts.append(
            f"## {title}\n\n{source} Tables: `{chapter.relative_to(ROOT)}`.\n\n| rule | source |\n| --- | --- |\n{rows}"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == page() else f"{PAGE.name} is not what tests/spec says")
    PAGE.write_text(page(), encoding="utf-8")
