"""What differs from run to run and must not: times, ids, secrets and nonces become words; markup becomes lines."""

import hashlib
import re
from html.parser import HTMLParser

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
#: An id that a page breaks in two.
_HALVES = r"(?!0{8})[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}\b|(?<= )-[0-9a-f]{4}-[0-9a-f]{12}\b"
_TIMES = (
    r"\b\d{1,2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}(, \d\d:\d\d(:\d\d)?( UTC)?)?",
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?",
    r"\d{4}-\d\d-\d\d",
    r"\b(a|an|\d+)\xa0(second|minute|hour|day|week|month|year)s?\b( ago)?",
    r"\b\d+(\.\d+)? ?(ms|s|seconds?|minutes?|hours?|days?) ago\b|\bjust now\b",
    r"\b(\d+ (h|min|s)\b ?)+(?=[ .]|$)",
)
_MASKS = (
    (r'(name="csrfmiddlewaretoken" [^>]*value=)"[^"]*"', r'\1"CSRF"'),
    (r'("X-CSRFToken": ?)"[^"]*"', r'\1"CSRF"'),
    (r'(name="draft(?:_ticket)?" [^>]*value=)"[^"]*"', r'\1"DRAFT"'),
    (rf"\bdraft={_UUID}", "draft=DRAFT"),
    (r"\bdhp_\w+|\beyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
    (r"\b(web|worker|beat)-[\w.-]+-\d+\b", r"\1-PROCESS"),
    *((pattern, "TIME") for pattern in _TIMES),
)
_KEPT_IDS = re.compile("00000000-0000-0000-0000-0000000000")


class Masker:
    """Replaces what differs; an id becomes the same word wherever it stands, numbered as ids are met."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def mask(self, text: str) -> str:
        """Return a text without what differs."""
        for pattern, word in _MASKS:
            text = re.sub(pattern, word, text, flags=re.MULTILINE)
        text = re.sub(_UUID, self._number, text)
        return re.sub(_HALVES, "ID", text)

    def _number(self, found: re.Match[str]) -> str:
        if _KEPT_IDS.match(found[0]):
            return found[0]
        return self._ids.setdefault(found[0], f"ID-{len(self._ids) + 1}")


class Lines(HTMLParser):
    """Markup as lines: a tag with its attributes in order, or a text without needless blanks, on each."""

    VOID = frozenset(
        {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
    )

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._depth = 0
        self._drawing: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write a tag; its text follows on the same line when that is all it holds."""
        said = "".join(
            f" {name}" if value is None else f' {name}="{" ".join(value.split())}"'
            for name, value in sorted(attrs, key=str)
        )
        self.lines.append(f"{' ' * self._depth}<{tag}{said}>")
        self._depth += tag not in self.VOID

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Write a tag that closes itself."""
        depth = self._depth
        self.handle_starttag(tag, attrs)
        self._depth = depth

    def handle_endtag(self, tag: str) -> None:
        """Step back; closing tags follow from the indentation."""
        if self._drawing is not None:
            if tag == "svg":
                digest = hashlib.sha256("".join(self._drawing).encode()).hexdigest()[:8]
                self._drawing = None
                self.lines.append(f"{' ' * self._depth}<svg {digest}>")
            return
        self._depth = max(self._depth - (tag not in self.VOID), 0)

    def handle_data(self, data: str) -> None:
        """Write a text."""
        if text := " ".join(data.split()):
            self.lines.append(f"{' ' * self._depth}{text}")


def _write_attribute(name: str, value: str | None) -> str:
    return f" {name}" if value is None else f' {name}="{" ".join(value.split())}"'


def split_lines(markup: str) -> list[str]:
    """Return the lines of a document."""
    parser = Lines()
    parser.feed(markup)
    parser.close()
    return parser.lines


class Links(HTMLParser):
    """Collects where a document leads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the address of a link, and of what a part of the page is loaded from."""
        self.found += [value for name, value in attrs if value and ((tag, name) == ("a", "href") or name == "hx-get")]


def find_links(markup: str) -> list[str]:
    """Return where a document leads, in its order."""
    parser = Links()
    parser.feed(markup)
    return parser.found
