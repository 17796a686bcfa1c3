"""Exports of grants lie beside the snapshot before the check of role mappings starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.storage import parse_address
from policies.errors import Invalid

KIND = KINDS["role_mapping_check"]


def test_a_folder_is_copied(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "grants" / "snow").mkdir(parents=True)
    (tmp_path / "grants" / "snow" / "a.csv").write_text("x", encoding="utf-8")
    (tmp_path / "input").mkdir()
    settings.GRANTS_EXPORTS = str(tmp_path / "grants")
    KIND.prepare(Report(kind=KIND.name), parse_address(tmp_path / "input"))
    place = json.loads((tmp_path / "input" / "grants_exports.json").read_text(encoding="utf-8"))["folder"]
    assert (tmp_path / "input" / place / "snow" / "a.csv").read_text(encoding="utf-8") == "x"


def test_a_url_is_named(settings: Any, tmp_path: Path) -> None:
    settings.GRANTS_EXPORTS = "s3a://bucket/grants/"
    KIND.prepare(Report(kind=KIND.name), parse_address(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["grants_exports.json"]
    said = json.loads((tmp_path / "grants_exports.json").read_text(encoding="utf-8"))
    assert said == {"folder": "s3a://bucket/grants"}


@pytest.mark.parametrize("place", ["", "no/such/folder"])
def test_nothing_to_check_is_a_sentence(settings: Any, tmp_path: Path, place: str) -> None:
    settings.GRANTS_EXPORTS = place
    with pytest.raises(Invalid, match="GRANTS_EXPORTS"):
        KIND.prepare(Report(kind=KIND.name), parse_address(tmp_path))


def test_what_is_sensitive_is_a_tag() -> None:
    assert KIND.validate({})["tags"] == ["urn:li:tag:PII"]
    with pytest.raises(Invalid) as raised:
        KIND.validate({"tags": ["urn:li:tag:a", "PII"]})
    assert [one.pointer for one in raised.value.problems] == ["/tags/1"]
