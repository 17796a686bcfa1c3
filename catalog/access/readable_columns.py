"""The SELECT of the rows and columns of a table that an actor may read (rules/datazone.md DZ-62)."""

import re
from collections.abc import Sequence

from catalog.access.aspect_documents import load_aspect
from policies.engine.model import Actor, DecisionCode, MissingPrivilege
from policies.engine.requirements import privilege_requirement
from policies.errors import Forbidden, Invalid
from policies.pdp import authorizer, explanations
from policies.pdp.access_requests import AccessRequest, ResourceRef

#: Types of entities with rows and columns, and the privilege that reads each.
READ_PRIVILEGES = {"dataset": "dataset:read", "view": "view:read"}

#: Marks of version and type in a nested path: [version=2.0].[type=struct].address.[type=string].city.
_PATH_MARKS = re.compile(r"\[[^\]]*\]")


class TableNotReadable(Forbidden):
    """Refusal to read a table; `code` is that of the decision."""

    def __init__(self, code: DecisionCode, urn: str, privilege: str) -> None:
        super().__init__((MissingPrivilege(urn or None, privilege),), explanations.SENTENCES[code])
        self.code = code.value


def render_select(
    *,
    actor: Actor,
    resource: ResourceRef,
    table: str,
    dialect: str,
    columns: Sequence[str] | None = None,
    at_least: int = 0,
) -> str:
    """Return the SELECT of everything that the actor may read of a dataset or view; `table` is its name in the query.

    `columns` are the requested ones when the catalog has a schema, else those of the table; None means all. Raises
    Invalid when no such query exists, TableNotReadable when nothing may be read.
    """
    privilege = READ_PRIVILEGES.get(resource.type)
    if privilege is None or not resource.urn:
        raise Invalid.from_problem(
            code="resource.no_table", pointer="/resource", detail="Only a dataset or view has rows."
        )
    access_request = AccessRequest(privilege_requirement(privilege), resource)
    (decision,) = authorizer.answer_and_count(requests=[(actor, access_request)], at_least=at_least)
    if not decision.is_allowed:
        raise TableNotReadable(decision.code, resource.urn, privilege)
    schema = load_columns(urn=resource.urn)
    known_columns, requested_columns = (schema, columns) if schema is not None else (columns, None)
    # The SQL library takes longer to import than the rest of the catalog's access.
    from policies.engine import sql_rendering

    try:
        view = sql_rendering.build_view(
            decision.slices,
            table_columns=known_columns,
            requested_columns=resource.columns if requested_columns is None else requested_columns,
        )
        return sql_rendering.render_select(view, table=table, dialect=dialect, table_columns=known_columns)
    except sql_rendering.MissingColumns as error:
        pointer = "/columns" if schema is None else "/resource"
        raise Invalid.from_problem(code=error.code, pointer=pointer, detail=str(error)) from None
    except sql_rendering.NoVisibleColumns:
        raise TableNotReadable(DecisionCode.NO_COLUMNS, resource.urn, privilege) from None
    except sql_rendering.RenderError as error:
        raise Invalid.from_problem(code=error.code, pointer=error.pointer, detail=str(error)) from None


def load_columns(*, urn: str) -> tuple[str, ...] | None:
    """Return the columns of a table in the catalog, nested ones as dotted paths; None when it has none."""
    schema_aspect = load_aspect(urn=urn, name="schemaMetadata")
    paths = (
        [str(field.get("fieldPath") or "") for field in schema_aspect.value.get("fields") or ()]
        if schema_aspect
        else []
    )
    return tuple(dict.fromkeys(name for name in map(column_name, paths) if name)) or None


def column_name(path: str) -> str:
    """Return the name of a column as people write it, such as address.city."""
    return ".".join(part for part in _PATH_MARKS.sub("", path).split(".") if part)
