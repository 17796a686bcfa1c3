"""Scripts that make the files of an export: queries of a warehouse for the client of its administrators. No Spark."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

#: The folder of a warehouse's queries, one in a file, whose name is that of its layout.
_QUERIES_FOLDER = "queries"


@dataclass(frozen=True, slots=True)
class ExportScript:
    """The frame of the queries of a warehouse.

    `warehouse` is its name, `package` its folder. `begin` and `end` are the first and the last lines, `statement` is
    each query with the file that it makes: it has {select} and {file}.
    """

    warehouse: str
    package: str
    begin: str
    statement: str
    end: str

    def list_queries(self) -> Mapping[str, str]:
        """Return the queries by the names of their layouts, in the order of these."""
        folder = files(self.package) / _QUERIES_FOLDER
        entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
        return {
            entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8").rstrip()
            for entry in entries
            if entry.name.endswith(".sql")
        }

    def render(self) -> str:
        """Return the script."""
        statements = (
            self.statement.replace("{select}", query).replace("{file}", f"{name}.csv").strip()
            for name, query in self.list_queries().items()
        )
        return "\n\n".join((self.begin.strip(), *statements, self.end.strip())) + "\n"
