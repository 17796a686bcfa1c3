"""Move modules to other rooms, and rewrite every import, dotted name and path of them: `.make/move.py SLICE...`.

The table is `.make/moves.toml`: a slice maps old files to new ones, `packages` says in a line what a new folder is.
What has moved already is passed over, so a slice can be run again after a merge. `git mv` keeps the history.

The slice `facades` moves nothing: reads through the facade of a folder (`from policies import queries`) become reads of
the module that has the name. A local name follows its module; where that name is taken in a file, or says too little,
the module is imported as <folder>_<module>.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst
from libcst import matchers as m
from libcst.metadata import (
    BuiltinAssignment,
    ImportAssignment,
    MetadataWrapper,
    ScopeProvider,
)

ROOT = Path(__file__).resolve().parents[1]
TABLE = tomllib.loads((ROOT / ".make" / "moves.toml").read_text(encoding="utf-8"))
SOURCES = ("authzsite", "policies", "catalog", "tests", "bench", ".make", "manage.py")
#: Where dotted names and paths stand as text.
TEXTS = (".py", ".toml", ".md", ".html", ".yaml", ".yml", ".cfg", ".properties", ".txt")
#: Records of what was, and files that are compared byte by byte.
LEFT_ALONE = ("docs/changelog.md", ".make/moves.toml", "tests/goldens/found/", "requirements", "docs/adr/")
#: Modules that say too little by themselves: their folder stands before them.
GENERIC = frozenset({"api", "models", "pages", "queries", "services", "spec", "tasks", "urls", "views", "job"})


def dotted(path: str) -> str:
    """Return the dotted name of the module in a file."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def local_name(module: str) -> str:
    """Return the name by which a file imports a module."""
    *above, name = module.split(".")
    room = next((room for room in reversed(above) if room not in GENERIC), "")
    return f"{singular(room)}_{name}" if name in GENERIC else name


def singular(name: str) -> str:
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith(("ss", "us")) else name


@dataclass
class Table:
    """Which module is where: moves as dotted names, and for each facade the module of every name."""

    modules: dict[str, str] = field(default_factory=dict)
    facades: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    #: Every move there is: a module is called what it is going to be.
    ends: dict[str, str] = field(default_factory=dict)


def read_facade(package: str) -> dict[str, tuple[str, str]]:
    """Return for each name that a package hands on the module that has it, and its name there."""
    tree = cst.parse_module((ROOT / package.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
    names = {}
    for statement in tree.body:
        for part in getattr(statement, "body", ()):
            if isinstance(part, cst.ImportFrom) and not isinstance(part.names, cst.ImportStar):
                module = dotted_of(part.module)
                for alias in part.names:
                    local = alias.asname.name.value if alias.asname else alias.name.value  # type: ignore[union-attr]
                    names[local] = (module, alias.name.value)
    return names  # type: ignore[return-value]


def dotted_of(node: cst.BaseExpression | None) -> str:
    match node:
        case cst.Name(value):
            return value
        case cst.Attribute(value, attr):
            return f"{dotted_of(value)}.{attr.value}"
        case _:
            return ""


def node_of(name: str) -> cst.Name | cst.Attribute:
    node: cst.Name | cst.Attribute = cst.Name(name.split(".")[0])
    for part in name.split(".")[1:]:
        node = cst.Attribute(node, cst.Name(part))
    return node


class Rewriter(cst.CSTTransformer):
    """Rewrites the imports of one file and the names that follow from them."""

    METADATA_DEPENDENCIES = (ScopeProvider,)

    def __init__(self, table: Table, wrapper: MetadataWrapper) -> None:
        super().__init__()
        self.table = table
        self.scopes = set(wrapper.resolve(ScopeProvider).values())
        self.renamed: dict[cst.CSTNode, str] = {}
        self.split: dict[cst.ImportFrom, list[cst.ImportFrom]] = {}
        self.replaced: dict[cst.CSTNode, cst.BaseExpression] = {}
        self.taken: dict[str, str] = {}
        self.warnings: list[str] = []
        self.plan(wrapper)

    # Planning: which statements are cut, and which names change.

    def plan(self, wrapper: MetadataWrapper) -> None:
        for statement in m.findall(wrapper.module, m.ImportFrom()):
            assert isinstance(statement, cst.ImportFrom)
            if not isinstance(statement.names, cst.ImportStar) and not statement.relative:
                self.plan_import_from(statement)
        for statement in m.findall(wrapper.module, m.Import()):
            for alias in statement.names:  # type: ignore[attr-defined]
                if dotted_of(alias.name) in self.table.modules:
                    self.warnings.append(f"import {dotted_of(alias.name)}")

    def plan_import_from(self, statement: cst.ImportFrom) -> None:
        module = dotted_of(statement.module)
        stays: list[cst.ImportAlias] = []
        goes: dict[str, list[cst.ImportAlias]] = defaultdict(list)
        assert not isinstance(statement.names, cst.ImportStar)
        for alias in statement.names:
            for new_module, new_alias in self.plan_alias(module, alias):
                goes[new_module].append(new_alias) if new_module else stays.append(new_alias)
        if not goes:
            return
        made = [
            cst.ImportFrom(module=node_of(name), names=unique(aliases)) for name, aliases in goes.items() if aliases
        ]
        if stays:
            made.insert(0, cst.ImportFrom(module=statement.module, names=stays))
        self.split[statement] = made

    def plan_alias(self, module: str, alias: cst.ImportAlias) -> Iterable[tuple[str, cst.ImportAlias]]:
        """Return what an imported name becomes, by the module it is imported from then: "" where nothing changes."""
        name = alias.name.value
        assert isinstance(name, str)
        whole = f"{module}.{name}"
        local = str(alias.asname.name.value if alias.asname else name)  # type: ignore[union-attr]
        if whole in self.table.facades:
            return list(self.plan_facade(whole, local))
        if name in self.table.facades.get(module, {}):
            new_module, new_name = self.table.facades[module][name]
            return [(new_module, cst.ImportAlias(cst.Name(new_name), asname=alias.asname))]
        if new := self.table.modules.get(whole):
            return [(new.rpartition(".")[0], self.plan_module(new, local, has_alias=alias.asname is not None))]
        return [(self.table.modules.get(module, ""), alias.with_changes(comma=cst.MaybeSentinel.DEFAULT))]

    def plan_module(self, new: str, local: str, *, has_alias: bool) -> cst.ImportAlias:
        """Return the import of a moved module, whose name in this file follows."""
        stem = new.rpartition(".")[2]
        if has_alias and local != stem:
            # An alias was chosen because the name was taken; it may be free now, but it is a name that somebody chose.
            return cst.ImportAlias(cst.Name(stem), asname=as_name(local))
        wanted = self.choose(new, {local})
        for access in self.find_accesses(local):
            self.renamed[access] = wanted
        return cst.ImportAlias(cst.Name(stem), asname=as_name(wanted) if wanted != stem else None)

    def plan_facade(self, facade: str, local: str) -> Iterator[tuple[str, cst.ImportAlias]]:
        """Yield the imports of the modules whose names are read through a facade."""
        names = self.table.facades[facade]
        chosen: dict[str, str] = {}
        for attribute in self.find_attributes(local):
            name = attribute.attr.value
            if name not in names:
                self.warnings.append(f"{facade}.{name} is not handed on")
                continue
            module, there = names[name]
            if module not in chosen:
                chosen[module] = self.choose(module, {local})
            self.replaced[attribute] = cst.Attribute(cst.Name(chosen[module]), cst.Name(there))
        for module, name in sorted(chosen.items()):
            above, _, stem = module.rpartition(".")
            yield above, cst.ImportAlias(cst.Name(stem), asname=as_name(name) if name != stem else None)

    def choose(self, module: str, given_up: set[str]) -> str:
        """Return a name for a module that nothing else in the file has."""
        if module in self.taken:
            return self.taken[module]
        end = self.table.ends.get(module, module)
        *above, stem = end.split(".")
        rooms = (
            f"{singular(stem)}_{room}" if room in GENERIC else f"{singular(room)}_{stem}" for room in reversed(above)
        )
        candidates = [local_name(end), *rooms, f"{stem}_module"]
        used = self.list_names() - given_up | set(self.taken.values())
        name = next(name for name in candidates if name not in used)
        if name != candidates[0]:
            self.warnings.append(f"{module} as {name}")
        self.taken[module] = name
        return name

    def list_names(self) -> set[str]:
        return {
            assignment.name
            for scope in self.scopes
            if scope is not None
            for assignment in scope.assignments
            if not isinstance(assignment, BuiltinAssignment)
        }

    def find_accesses(self, local: str) -> Iterator[cst.CSTNode]:
        for scope in self.scopes:
            if scope is None:
                continue
            for assignment in scope.assignments[local]:
                if isinstance(assignment, ImportAssignment):
                    for access in assignment.references:
                        yield access.node if isinstance(access.node, cst.Name) else root_of(access.node)

    def find_attributes(self, local: str) -> Iterator[cst.Attribute]:
        roots = set(self.find_accesses(local))
        for attribute in self.attributes:
            if attribute.value in roots:
                yield attribute

    attributes: list[cst.Attribute] = []

    # Writing.

    def leave_ImportFrom(  # noqa: N802  # libcst calls it by the name of its class
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> "cst.ImportFrom | cst.FlattenSentinel[cst.BaseSmallStatement] | cst.RemovalSentinel":
        made = self.split.get(original_node)
        if made is None:
            return updated_node
        return cst.FlattenSentinel(made) if made else cst.RemoveFromParent()

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:  # noqa: N802  # libcst calls it by the name of its class
        return self.replaced.get(original_node, updated_node)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:  # noqa: N802  # libcst calls it by the name of its class
        name = self.renamed.get(original_node)
        return updated_node.with_changes(value=name) if name else updated_node


def root_of(node: cst.CSTNode) -> cst.CSTNode:
    while isinstance(node, cst.Attribute):
        node = node.value
    return node


def as_name(name: str) -> cst.AsName:
    return cst.AsName(cst.Name(name))


def unique(aliases: Iterable[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """Return the aliases without what stands there twice."""
    found = {}
    for alias in aliases:
        found[alias.name.value, alias.asname.name.value if alias.asname else None] = alias  # type: ignore[union-attr]
    return list(found.values())


def list_files(suffixes: tuple[str, ...]) -> Iterator[Path]:
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for name in listed:
        if name.endswith(suffixes) and not name.startswith(LEFT_ALONE) and (ROOT / name).is_file():
            yield ROOT / name


def move_files(moves: dict[str, str], packages: dict[str, str]) -> None:
    """Move the files, and make the folders that they need."""
    for old, new in sorted(moves.items(), key=lambda move: not move[1].endswith("__init__.py")):
        source, target = ROOT / old, ROOT / new
        if not source.exists():
            continue
        folder = target.parent
        while (
            new.endswith(".py")
            and target.name != "__init__.py"
            and folder != ROOT
            and not (folder / "__init__.py").exists()
        ):
            folder.mkdir(parents=True, exist_ok=True)
            name = str(folder.relative_to(ROOT))
            (folder / "__init__.py").write_text(f'"""{packages[name]}"""\n', encoding="utf-8")
            subprocess.run(["git", "add", str(folder / "__init__.py")], cwd=ROOT, check=True)
            folder = folder.parent
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "mv", old, new], cwd=ROOT, check=True)


def is_affected(text: str, table: Table) -> bool:
    """Whether a file imports something that moves; asked first, since it is quick."""
    moving = {*table.modules, *table.facades}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            if not moving.isdisjoint({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}):
                return True
        elif isinstance(node, ast.Import) and not moving.isdisjoint(alias.name for alias in node.names):
            return True
    return False


def rewrite_imports(table: Table) -> None:
    """Rewrite the imports of every file that names something that moves."""
    for path in list_files((".py",)):
        text = path.read_text(encoding="utf-8")
        if not is_affected(text, table):
            continue
        wrapper = MetadataWrapper(cst.parse_module(text))
        Rewriter.attributes = list(m.findall(wrapper.module, m.Attribute(value=m.Name())))  # type: ignore[arg-type]
        rewriter = Rewriter(table, wrapper)
        if rewriter.split:
            path.write_text(wrapper.visit(rewriter).code, encoding="utf-8")
        for warning in rewriter.warnings:
            sys.stdout.write(f"{path.relative_to(ROOT)}: {warning}\n")


def rewrite_texts(moves: dict[str, str]) -> None:
    """Rewrite dotted names and paths in texts: settings, contracts, patches of tests, documents."""
    names = {dotted(old): dotted(new) for old, new in moves.items() if not old.endswith("__init__.py")}
    paths = {old: new for old, new in moves.items() if not old.endswith("__init__.py")}
    one = re.compile(
        r"(?<![\w./])(" + "|".join(map(re.escape, sorted({**names, **paths}, key=len, reverse=True))) + r")(?!\w)"
    )
    both = {**names, **paths}
    for path in list_files(TEXTS):
        text = path.read_text(encoding="utf-8")
        new = one.sub(lambda found: both[found[1]], text)
        if new != text:
            path.write_text(new, encoding="utf-8")


def main(slices: list[str]) -> int:
    """Move the named slices; without a name, say which there are."""
    if not slices:
        sys.stdout.write("\n".join(["facades", *TABLE["slices"]]) + "\n")
        return 0
    moves = {old: new for name in slices if name != "facades" for old, new in TABLE["slices"][name].items()}
    ends = {dotted(old): dotted(new) for table in TABLE["slices"].values() for old, new in table.items()}
    packages = [name for name in TABLE["facades"] if (ROOT / name.replace(".", "/") / "__init__.py").exists()]
    facades = {name: read_facade(name) for name in packages} if "facades" in slices else {}
    table = Table({dotted(old): dotted(new) for old, new in moves.items()}, facades, ends)
    move_files(moves, TABLE["packages"])
    rewrite_imports(table)
    if moves:
        rewrite_texts(moves)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
