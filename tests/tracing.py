"""Which functions of the product each test runs, and which of them speak to a database: the facts of `make t`.

An import hook marks the first step of each function. It costs a store into an array, where a tracer of the interpreter
would double the time of a run. Code that a test starts in another process is outside of the hook (web servers, workers,
Spark's Python): such tests are found by the room of what they run, see `.make/touched.py`.

Functions are marked with `TEST_TRACES=true`, before a module of the product is imported; statements and templates can
be watched at any time.
"""

import ast
import hashlib
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ("authzsite", "policies", "catalog")
#: Where compiled modules with the marks of this module lie, apart from those of every other process.
CACHE = ROOT / "var" / "traced" / hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
#: The name of the array in each module; the first place is that of its first function.
ARRAY = "__traced__"


@dataclass(frozen=True, slots=True)
class Ran:
    """Functions as `module:Class.function`, those that sent a statement to a database, and rendered templates."""

    functions: set[str] = field(default_factory=set)
    spoke: set[str] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)

    def add(self, other: "Ran") -> None:
        """Add what else has run."""
        self.functions.update(other.functions)
        self.spoke.update(other.spoke)
        self.templates.update(other.templates)


class Traces:
    """What has run since the last look."""

    def __init__(self) -> None:
        self.spoke: set[str] = set()
        self.templates: set[str] = set()
        self._put_back: set[str] = set()
        self._arrays: list[tuple[str, tuple[str, ...], bytearray]] = []

    def open_module(self, module: str, functions: tuple[str, ...]) -> bytearray:
        """Return the array in which the functions of a module mark that they ran, in their order."""
        array = bytearray(len(functions))
        self._arrays.append((module, functions, array))
        return array

    def take(self) -> "Ran":
        """Return what has run since the last call."""
        ran = Ran(self._put_back | set(self._list_ran()), self.spoke, self.templates)
        self.spoke, self.templates, self._put_back = set(), set(), set()
        return ran

    def put_back(self, ran: Ran) -> None:
        """Count this at the next call of `take`, beside what runs until then."""
        self.spoke |= ran.spoke
        self.templates |= ran.templates
        self._put_back |= ran.functions

    def _list_ran(self) -> Iterator[str]:
        for module, functions, array in self._arrays:
            place = array.find(1)
            while place >= 0:
                array[place] = 0
                yield f"{module}:{functions[place]}"
                place = array.find(1, place + 1)


class _Marker(ast.NodeTransformer):
    """Gives each function a first statement that marks its place in the array of the module."""

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._around: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # the name that ast gives it
        return self._go_inside(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._mark(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._mark(node)

    def _mark(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        place = len(self.functions)
        self.functions.append(".".join([*self._around, node.name]))
        self._go_inside(node)
        begin = 1 if ast.get_docstring(node, clean=False) is not None else 0
        after = node.body[begin] if begin < len(node.body) else node.body[-1]
        mark = ast.parse(f"{ARRAY}[{place}] = 1").body[0]
        for part in ast.walk(mark):
            ast.copy_location(part, after)
        node.body.insert(begin, mark)
        return node

    def _go_inside(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._around.append(node.name)
        self.generic_visit(node)
        self._around.pop()
        return node


def add_marks(source: bytes, name: str) -> ast.Module:
    """Return the tree of a module whose functions mark that they ran."""
    tree = ast.parse(source)
    marker = _Marker()
    marker.visit(tree)
    opening = f"{ARRAY} = __import__('sys').modules[{__name__!r}].TRACES.open_module({name!r}, {marker.functions!r})"
    begin = 0
    for begin, statement in enumerate(tree.body):  # noqa: B007  # its last value is used
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            break
    tree.body[begin:begin] = ast.parse(opening).body
    return ast.fix_missing_locations(tree)


class _MarkingLoader(importlib.machinery.SourceFileLoader):
    """Compiles modules with marks and keeps what it compiled in a folder of its own."""

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        code: CodeType = compile(add_marks(data, self.name), path, "exec", dont_inherit=True, optimize=_optimize)
        return code

    def get_data(self, path: str) -> bytes:
        return super().get_data(_find_own_place(path))

    def set_data(self, path: str, data: Any, *, _mode: int = 0o666) -> None:
        super().set_data(_find_own_place(path), data, _mode=_mode)


def _find_own_place(path: str) -> str:
    """Return where a compiled module lies; source stays where it is."""
    if not path.endswith(".pyc"):
        return path
    return str(CACHE / Path(path).relative_to(ROOT))


class _MarkingFinder(MetaPathFinder):
    """Finds modules of the product before Python's own finder does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path or [str(ROOT)], target)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _MarkingLoader(spec.loader.name, spec.loader.path)
        return spec


TRACES = Traces()
IS_ON = os.environ.get("TEST_TRACES") == "true"


def begin() -> None:
    """Mark the modules of the product from now on."""
    early = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    assert not early, f"imported before their functions could be marked: {early}"
    sys.meta_path.insert(0, _MarkingFinder())


def watch_templates() -> None:
    """Note the templates of the product that are rendered."""
    from django.template.base import Template

    render = Template.render
    places: dict[str, str] = {}

    def render_noted(template: Any, context: Any) -> Any:
        name = template.origin.name
        if name not in places:
            path = Path(name)
            places[name] = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if places[name]:
            TRACES.templates.add(places[name])
        return render(template, context)

    Template.render = render_noted  # type: ignore[method-assign, assignment]  # `template` is its self


def watch_statements() -> None:
    """Note the innermost function of the product around each statement of SQL."""
    from django.db.backends.utils import CursorWrapper

    # Django's stubs do not have it.
    wrapper: Any = CursorWrapper
    execute = wrapper._execute_with_wrappers

    def execute_noted(cursor: Any, *arguments: Any, **named: Any) -> Any:
        note_speaker()
        return execute(cursor, *arguments, **named)

    wrapper._execute_with_wrappers = execute_noted


def find_function(qualified_name: str) -> str:
    """Return the name that `Traces` has for a function: without `<locals>`; for a lambda, the one around it."""
    return qualified_name.replace(".<locals>", "").partition(".<")[0]


def note_speaker() -> None:
    """Note the innermost function of the product that is running."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.partition(".")[0] in PACKAGES:
            TRACES.spoke.add(f"{name}:{find_function(frame.f_code.co_qualname)}")
            return
        frame = frame.f_back  # type: ignore[assignment]
