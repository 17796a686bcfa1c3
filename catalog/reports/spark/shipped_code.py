"""The engine and the code of jobs as a zip, for Python processes of Spark that have no copy of this project."""

import zipfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

from catalog import reports, sql_text, warehouses
from policies import engine

#: Packages of this project that executors need, and the file types shipped.
_SHIPPED_MODULES: tuple[ModuleType, ...] = (engine, sql_text, warehouses, reports)
_SHIPPED_SUFFIXES = frozenset({".py", ".sql", ".toml"})


def build_archive(folder: Path) -> Path:
    """Return a zip of the shipped packages, written into a folder."""
    archive = folder / "shipped" / "authzsite.zip"
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name, file in sorted(_list_shipped_files().items()):
            zip_file.write(file, name)
    return archive


def _list_shipped_files() -> dict[str, Path]:
    """Return the files that executors need, as path in the archive -> file, including their parent packages."""
    files: dict[str, Path] = {}
    for module in _SHIPPED_MODULES:
        names = module.__name__.split(".")
        for depth in range(1, len(names)):
            files.update(_list_files(import_module(".".join(names[:depth]))))
        module_path = Path(module.__file__ or "")
        files.update(_list_files(module, *(module_path.parent.rglob("*") if hasattr(module, "__path__") else ())))
    return files


def _list_files(module: ModuleType, *other_paths: Path) -> dict[str, Path]:
    """Return the file of a module and `other_paths` beside or below it, as path in the archive -> file."""
    module_path = Path(module.__file__ or "")
    depth = module.__name__.count(".") + hasattr(module, "__path__")
    return {
        str(file.relative_to(module_path.parents[depth])): file
        for file in (module_path, *other_paths)
        if file.suffix in _SHIPPED_SUFFIXES
    }
