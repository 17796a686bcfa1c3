"""What has changed in the tree: against the upstream of the branch, or since a commit that somebody names."""

import ast
import subprocess
from dataclasses import dataclass
from pathlib import Path


class UnknownCommit(Exception):
    """Git knows no commit of this name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Changed paths, files that are not committed included, and the commit that they are compared with."""

    paths: tuple[str, ...]
    base: str
    words: str


def list_changes(root: Path, since: str = "") -> Changes:
    """Return what differs from `since`, or from where the branch left its upstream; without one, from the last commit.

    Raises UnknownCommit for a `since` that git does not know.
    """
    if since:
        found = _ask_git(root, "rev-parse", "--verify", "--quiet", f"{since}^{{commit}}")
        if not found:
            raise UnknownCommit(since)
        base, words = found[0], since
    elif found := _ask_git(root, "merge-base", "HEAD", "@{upstream}"):
        base, words = found[0], "the upstream of this branch"
    else:
        base, words = "HEAD", "the last commit, because this branch has no upstream (SINCE=COMMIT names another)"
    changed = _ask_git(root, "diff", "--name-only", base)
    new = _ask_git(root, "ls-files", "--others", "--exclude-standard")
    return Changes(tuple(sorted({*changed, *new})), base, words)


def is_inside_functions(root: Path, base: str, path: str) -> bool:
    """Return whether a module differs only in the bodies of its functions, so that only those who run them see it."""
    file = root / path
    before = _ask_git(root, "show", f"{base}:{path}")
    if not file.exists() or not before:
        return False
    return _dump_outside("\n".join(before)) == _dump_outside(file.read_text(encoding="utf-8"))


class _BodyRemover(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # the name that ast gives it
        node.body = []
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.body = []
        return node


def _dump_outside(source: str) -> str:
    return ast.dump(_BodyRemover().visit(ast.parse(source)))


def _ask_git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []
