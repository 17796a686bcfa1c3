"""A warehouse is a folder: no branch on a form or a dialect stands outside of the folder that says what it is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from catalog.warehouses.registry import list_dialects, list_warehouses

ROOT = Path(__file__).parents[2]
#: The code that exports pass through.
FOLDERS = ("catalog/warehouses", "catalog/reports/kinds/role_mapping_check", "catalog/reports/kinds/warehouse_usage")
#: Where a warehouse has another name than its folder: its form is a kind of file.
FOLDER_NAMES = {"csv": "plain"}


def list_texts_of_code() -> Iterator[tuple[Path, int, str]]:
    """Yield each text of the code, with its place."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield file.relative_to(ROOT), node.lineno, node.value


@pytest.mark.parametrize("name", sorted({*list_warehouses(), *list_dialects()}))
def test_the_name_of_a_warehouse_stands_in_its_folder_alone(name: str) -> None:
    own_folder = Path("catalog/warehouses") / FOLDER_NAMES.get(name, name)
    named = [f"{file}:{line}" for file, line, text in list_texts_of_code() if text.casefold() == name]
    strangers = [place for place in named if not place.startswith(f"{own_folder}/")]
    assert named, "the folder names its warehouse"
    assert strangers == []


def test_every_folder_is_a_warehouse_of_the_registry() -> None:
    folders = {file.parent.name for file in (ROOT / "catalog/warehouses").glob("*/description.py")}
    assert folders == {FOLDER_NAMES.get(name, name) for name in list_warehouses()}
