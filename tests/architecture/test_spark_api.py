"""Jobs use what every Spark has: no internals of PySpark, and nothing that Connect or PySpark 3.5 lacks."""

import ast
from pathlib import Path

import pytest

CATALOG = Path(__file__).resolve().parents[2] / "catalog"
FILES = [file for room in ("reports", "spark") for file in sorted((CATALOG / room).rglob("*.py"))]

#: Attributes that no job may use -> the only module that may, because it has another way where they are missing.
BANNED = {
    "rdd": None,
    "accumulator": None,
    "parallelize": None,
    "_jvm": None,
    "_jdf": None,
    "_gateway": None,
    "_sc": None,
    "mapInArrow": None,
    "mapInPandas": None,
    "applyInArrow": None,
    "toArrow": "frames.py",
    "sparkContext": "session.py",
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(CATALOG)))
def test_a_job_uses_what_every_spark_has(file: Path) -> None:
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    used = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    imported = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    imported |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in used & BANNED.keys() if BANNED[name] != file.name} == set()
    assert {name for name in imported if name.partition(".")[0] in ("py4j", "grpc", "pandas")} == set()
