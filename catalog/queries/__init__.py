"""Every read of the catalog. Callers write `queries.search(text=...)` and need not know in which module it lives."""

from catalog.queries.coverage import covered, reached_by_any
from catalog.queries.documents import StoredAspect, aspect, aspects, deprecated, documents, texts
from catalog.queries.lists import (
    ancestors,
    contents,
    entities,
    get,
    members,
    parents,
    search,
    stored,
    values_of,
    within,
)
from catalog.queries.naming import nameable_among
from catalog.queries.reaching import Reachable, ReachedRow, reachable
from catalog.queries.records import aspect_for, aspects_for, documents_for
from catalog.queries.related_many import related_many
from catalog.queries.relationships import Related, related
from catalog.queries.retention import delete_old_versions
from catalog.queries.viewing import hidden, may_view, redacted, viewable

__all__ = [
    "Reachable",
    "ReachedRow",
    "Related",
    "StoredAspect",
    "ancestors",
    "aspect",
    "aspect_for",
    "aspects",
    "aspects_for",
    "contents",
    "covered",
    "delete_old_versions",
    "deprecated",
    "documents",
    "documents_for",
    "entities",
    "get",
    "hidden",
    "may_view",
    "members",
    "nameable_among",
    "parents",
    "reachable",
    "reached_by_any",
    "redacted",
    "related",
    "related_many",
    "search",
    "stored",
    "texts",
    "values_of",
    "viewable",
    "within",
]
