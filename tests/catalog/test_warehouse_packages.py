"""A package adds a warehouse by an entry point, and cannot take the name of one that ships."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from catalog.warehouses.exports import parse_exports
from catalog.warehouses.registry import ENTRY_POINT_GROUP, list_dialects, list_warehouses
from catalog.warehouses.warehouse import BadExports

MODULE = """
from dataclasses import replace

from catalog.warehouses.registry import TRINO

ORACLE = replace(TRINO, name="oracle", dialect=replace(TRINO.dialect, name="oracle", has_public=True))
TWIN = replace(TRINO)
NUMBER = 7
"""
EXPORT = {"name": "one", "platform": "oracle", "form": "oracle", "grants": ["a.csv"]}
Install = Callable[[str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return what installs a package whose entry point names something in its module."""

    def write(name: str) -> None:
        (tmp_path / "their_warehouses.py").write_text(MODULE, encoding="utf-8")
        folder = tmp_path / "their_warehouses-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: their-warehouses\nVersion: 1.0\n", encoding="utf-8"
        )
        entry = f"[{ENTRY_POINT_GROUP}]\nany = their_warehouses:{name}\n"
        (folder / "entry_points.txt").write_text(entry, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        for function in (list_warehouses, list_dialects):
            function.cache_clear()

    yield write
    sys.modules.pop("their_warehouses", None)
    for function in (list_warehouses, list_dialects):
        function.cache_clear()


def test_the_warehouse_of_a_package_is_a_form(install: Install) -> None:
    install("ORACLE")
    (export,) = parse_exports(json.dumps({"exports": [EXPORT]}))
    assert (export.warehouse.name, export.dialect and export.dialect.name) == ("oracle", "oracle")
    (plain,) = parse_exports(json.dumps({"exports": [EXPORT | {"form": "csv"}]}))
    assert plain.dialect is export.dialect


@pytest.mark.parametrize(("name", "sentence"), [("TWIN", "has the name trino"), ("NUMBER", "is no Warehouse")])
def test_a_name_that_is_taken_and_what_is_no_warehouse_are_refused(install: Install, name: str, sentence: str) -> None:
    install(name)
    with pytest.raises(BadExports, match=f"their_warehouses:{name} of {ENTRY_POINT_GROUP} {sentence}"):
        list_warehouses()
