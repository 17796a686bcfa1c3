"""Results of the tests of a bundle as JUnit XML, which CI systems show."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from xml.sax.saxutils import escape, quoteattr

from catalog.bundle_tests.running import CaseResult


def render_junit(results: Sequence[CaseResult]) -> str:
    """Return the document; `results` are in the order of their files, each of which is a suite."""
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(f'<testsuites name="policies"{_count_attributes(results)}>')
    for path, file_results in groupby(results, attrgetter("file")):
        suite = list(file_results)
        lines.append(f"  <testsuite name={_quote(path)}{_count_attributes(suite)}>")
        for result in suite:
            lines += _render_case(result)
        lines.append("  </testsuite>")
    lines.append("</testsuites>\n")
    return "\n".join(lines)


def _render_case(result: CaseResult) -> Iterable[str]:
    attributes = (
        f'classname={_quote(result.file)} name={_quote(result.name)} file={_quote(result.file)} line="{result.line}"'
    )
    if not result.failures:
        yield f"    <testcase {attributes}/>"
        return
    yield f"    <testcase {attributes}>"
    for line, message in result.failures:
        yield f"      <failure message={_quote(message)}>{escape(_clean(f'{result.file}:{line}: {message}'))}</failure>"
    yield "    </testcase>"


def _count_attributes(results: Sequence[CaseResult]) -> str:
    failed_count = sum(bool(result.failures) for result in results)
    return f' tests="{len(results)}" failures="{failed_count}" errors="0"'


def _quote(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}" for character in text
    )
