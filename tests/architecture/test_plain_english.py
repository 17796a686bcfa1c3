"""Sentences begin with their subject: in docstrings, on pages, in errors and in docs."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("authzsite", "bench", "catalog", "policies")
#: A sentence that begins with a relative pronoun hides its subject.
OPENING = re.compile(
    r"(?:^|[.!?]\s+|\n\s*\n\s*)((?:What|Whom|Whoever|Whomever|Which|Whichever|Whatever|Whose)\b[^.?!]*[.?!])"
)
#: Phrases that a reader stumbles over, in sentences of the product.
PHRASES = (
    "counts at once",
    "counts until",
    "counts without",
    "gains or loses anything",
    "nobody yet",
    "for who comes after you",
    "are not to?",
    "is said of it",
)


def list_texts() -> Iterator[tuple[str, str]]:
    """Yield the place and the text of each string, of each node of a template, and of each line of the docs."""
    modules = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    for path in (path for path in modules if "migrations" not in path.parts):
        yield from list_strings(path)
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for text in re.split(r"<[^>]*>", re.sub(r"\{[{%#].*?[}%#]\}", "; ", path.read_text(), flags=re.DOTALL)):
            yield str(path.relative_to(ROOT)), text.strip()
    pages = (path for path in (ROOT / "docs").rglob("*.md") if "adr" not in path.parts)
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(pages)):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if not line.startswith("#"):
                yield f"{path.relative_to(ROOT)}:{number}", line.strip().lstrip("|- ")


def list_strings(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def test_sentences_begin_with_their_subject() -> None:
    found = [
        f"{place}: {' '.join(match[1].split())}"
        for place, text in list_texts()
        for match in OPENING.finditer(text)
        if not match[1].endswith("?") and "|" not in match[1]
    ]
    assert not found, "\n".join(found)


def test_no_sentence_has_a_phrase_that_readers_stumble_over() -> None:
    found = [f"{place}: {phrase}" for place, text in list_texts() for phrase in PHRASES if phrase in text.lower()]
    assert not found, "\n".join(found)
