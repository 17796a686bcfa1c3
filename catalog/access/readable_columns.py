"""What somebody may read of a table, as the query that shows exactly that (rules/datazone.md DZ-62)."""

import re
from collections.abc import Sequence

from catalog.access.aspect_documents import aspect
from policies.engine import sql_rendering
from policies.engine.model import Actor, Code, Missing
from policies.engine.requirements import one
from policies.errors import Forbidden, Invalid
from policies.pdp import authorizer, explanations
from policies.pdp.authorizer import Ask, Asked

#: Types of entities that have rows and columns, and the privilege that reads them.
READS = {"dataset": "dataset:read", "view": "view:read"}

#: What DataHub writes between the names of a nested field: versions and types.
_MARKS = re.compile(r"\[[^\]]*\]")


class NotReadable(Forbidden):
    """The table may not be read; `code` is that of the decision."""

    def __init__(self, code: Code, urn: str, privilege: str) -> None:
        super().__init__((Missing(urn or None, privilege),), explanations.SENTENCES[code])
        self.code = code.value


def select(
    *,
    actor: Actor,
    asked: Asked,
    table: str,
    dialect: str,
    columns: Sequence[str] | None = None,
    at_least: int = 0,
) -> str:
    """Return the SELECT that shows what the actor may read of a dataset or view, which is called `table` there.

    `columns` are those wanted when the catalog has a schema, else those the table has; None: all. Raises Invalid when
    there is no such query, NotReadable when nothing may be read.
    """
    privilege = READS.get(asked.type)
    if privilege is None or not asked.urn:
        raise Invalid.one(code="resource.no_table", pointer="/resource", detail="Only a dataset or view has rows.")
    decision = authorizer.answer(actor=actor, ask=Ask(one(privilege), asked), at_least=at_least)
    if not decision.is_allowed:
        raise NotReadable(decision.code, asked.urn, privilege)
    schema = schema_of(urn=asked.urn)
    known, wanted = (schema, columns) if schema is not None else (columns, None)
    try:
        view = sql_rendering.view_of(decision.slices, known=known, wanted=asked.columns if wanted is None else wanted)
        return sql_rendering.select(view, table=table, dialect=dialect, known=known)
    except sql_rendering.NothingToShow:
        raise NotReadable(Code.NO_COLUMNS, asked.urn, privilege) from None
    except sql_rendering.CannotRender as error:
        raise Invalid.one(code=error.code, pointer=error.pointer, detail=str(error)) from None


def schema_of(*, urn: str) -> tuple[str, ...] | None:
    """Return the columns that the catalog knows of a table, nested ones as dotted paths; None when it knows none."""
    stored = aspect(urn=urn, name="schemaMetadata")
    paths = [str(field.get("fieldPath") or "") for field in stored.value.get("fields") or ()] if stored else []
    names = (".".join(part for part in _MARKS.sub("", path).split(".") if part) for path in paths)
    return tuple(dict.fromkeys(name for name in names if name)) or None
