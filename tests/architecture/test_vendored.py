"""Other people's files are what VENDORED.md says they are, and our templates keep to the content security policy."""

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
VENDOR = ROOT / "static" / "vendor"
TEMPLATES = ROOT / "templates"
ICONS = TEMPLATES / "components" / "icons"

SUM_ROW = re.compile(r"^\| `(?P<path>[^`]+)` \| `(?P<sum>[0-9a-f]{64})` \|$", re.MULTILINE)
COMMENT = re.compile(r"{%\s*comment\s*%}.*?{%\s*endcomment\s*%}|{#.*?#}", re.DOTALL)
STATIC_PATH = re.compile(r"""{%\s*static\s+["']([^"']+)["']\s*%}""")
ICON_NAME = re.compile(r"""components/icon\.html["'] with [^%]*?\bname=["']([^"']+)["']""")
ICON_ARGUMENT = re.compile(r"""\bicon(?:=|\|default:)["']([^"']+)["']""")
INLINE = re.compile(
    r"""<style\b|<script(?![^>]*\bsrc=)[^>]*>|\sstyle\s*=|\son[a-z]+\s*=|\shx-on\b|javascript:""", re.IGNORECASE
)

SUMS = {row["path"]: row["sum"] for row in SUM_ROW.finditer((VENDOR / "VENDORED.md").read_text())}


def markup() -> dict[str, str]:
    """Every template by its path, without its comments."""
    return {str(path.relative_to(ROOT)): COMMENT.sub("", path.read_text()) for path in TEMPLATES.rglob("*.html")}


def test_every_vendored_file_is_listed_and_every_listed_file_is_there() -> None:
    present = {str(path.relative_to(VENDOR)) for path in VENDOR.rglob("*") if path.is_file()}
    assert present - {"VENDORED.md"} == set(SUMS)


@pytest.mark.parametrize("path", sorted(SUMS))
def test_a_vendored_file_is_as_it_came(path: str) -> None:
    assert hashlib.sha256((VENDOR / path).read_bytes()).hexdigest() == SUMS[path]


def test_every_package_carries_its_licence() -> None:
    packages = [path for path in VENDOR.iterdir() if path.is_dir()]
    assert packages
    assert [package.name for package in packages if not (package / "LICENSE").is_file()] == []


def test_source_maps_that_a_file_names_are_beside_it() -> None:
    # Hashed file names follow these references, and collectstatic stops at one that leads nowhere.
    named = [
        (path, match[1])
        for path in VENDOR.rglob("*.min.*")
        if path.suffix in {".css", ".js"}
        for match in re.finditer(r"sourceMappingURL=(\S+)", path.read_text())
    ]
    assert named
    assert [str(path) for path, name in named if not (path.parent / name).is_file()] == []


def test_templates_hold_no_inline_script_style_or_handler() -> None:
    found = {path: match[0] for path, text in markup().items() if (match := INLINE.search(text))}
    assert found == {}


def test_every_static_file_and_icon_that_a_template_names_exists() -> None:
    texts = markup().values()
    statics = {name for text in texts for name in STATIC_PATH.findall(text)}
    icons = {name for text in texts for pattern in (ICON_NAME, ICON_ARGUMENT) for name in pattern.findall(text)}
    assert statics
    assert icons
    assert {name for name in statics if not (ROOT / "static" / name).is_file()} == set()
    assert {name for name in icons if not (ICONS / f"{name}.svg").is_file()} == set()
