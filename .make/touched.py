"""The tests of what has changed since main: changed files of tests, and those that import what changed."""

import ast
import subprocess
from collections.abc import Iterable
from pathlib import Path

import grimp

PACKAGES = ("authzsite", "policies", "catalog")
#: What is tested elsewhere than where Python imports it: the beginning of a path → tests.
ELSEWHERE = {
    "templates/": ("tests/web",),
    "static/": ("tests/web", "tests/journeys"),
    ".make/": ("tests/site",),
    "docs/": ("tests/architecture/test_docs.py",),
    "bench/": (),
    "catalog/sample/": ("tests/catalog/test_sample_company.py",),
}
SHARED = ("conftest.py", "runs.py", "workers.py", "__init__.py")


def list_changes(root: Path) -> list[str]:
    """Return the paths that differ from where the branch left main, files that are not committed included."""
    base = _git(root, "merge-base", "HEAD", "main") or ["HEAD"]
    return sorted(
        {*_git(root, "diff", "--name-only", base[0]), *_git(root, "ls-files", "--others", "--exclude-standard")}
    )


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def list_tests(root: Path) -> list[str]:
    """Return the files and folders of tests to run, in order."""
    changes = list_changes(root)
    found = {path for path in changes if Path(path).name.startswith("test_") and (root / path).exists()}
    # What the tests of a folder share.
    found |= {"/".join(path.split("/")[:2]) for path in changes if path.startswith("tests/") and path not in found}
    for begin, tests in ELSEWHERE.items():
        if any(path.startswith(begin) for path in changes):
            found |= set(tests)
    modules = {_name(path) for path in changes if path.endswith(".py") and path.startswith(PACKAGES)}
    if modules:
        found |= _find_importers(root, _widen(modules))
    # What all tests share is the business of `make check` and `make test`.
    found = {path for path in found if path.count("/") and (root / path).exists() and not path.endswith(SHARED)}
    return sorted(path for path in found if not any(str(parent) in found for parent in Path(path).parents))


def _name(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _widen(modules: Iterable[str]) -> set[str]:
    """Return modules with those that import them."""
    graph = grimp.build_graph(*PACKAGES)
    found = set(modules)
    for module in modules:
        if module in graph.modules:
            found |= set(graph.find_modules_that_directly_import(module))
    return found


def _find_importers(root: Path, modules: set[str]) -> set[str]:
    """Return the files of tests that import one of these modules."""
    files = [path for path in (root / "tests").rglob("test_*.py") if "clients" not in path.parts]
    return {str(path.relative_to(root)) for path in files if modules & _list_imports(path)}


def _list_imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found
