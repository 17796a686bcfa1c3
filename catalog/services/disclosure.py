"""Refusals about entities that the caller may not view: the same words as where nothing is stored (view authorization).

Whoever may neither view nor edit an entity learns nothing from being refused: not that it is there, and not what it
belongs to.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from catalog import queries
from catalog.services.needs import Documents
from policies import authority
from policies.authority import Ask
from policies.engine.model import Actor, Missing
from policies.errors import Forbidden, NotFound

#: Relatives that the catalog knows of an entity where the question names none.
_STORED = ("domains", "subjects", "logical_parent", "parent")


@dataclass(frozen=True, slots=True)
class DocumentsWithout:
    """Documents as if some entities were not stored."""

    documents: Documents
    unseen: Collection[str]

    def document(self, urn: str, aspect: str) -> str | None:
        """Return the text of a document, None where there is none or its entity is left out."""
        return None if urn in self.unseen else self.documents.document(urn, aspect)


def require_visible(*, urn: str, by: Actor) -> None:
    """Raise NotFound for an entity that the caller may not view, as for one that is not stored."""
    if queries.hidden(urns=[urn], by=by):
        raise NotFound(f"There is no entity {urn}.")


def find_refusal_as_absent(*, by: Actor, asks: Sequence[Ask], unseen: Collection[str]) -> Forbidden:
    """Return what refuses these changes where the unseen entities are not stored; `asks` are those of that case.

    Where nothing would (the caller may make such entities), EDIT_ENTITY is what is missing.
    """
    found = authority.find_refusal(by=by, asks=[_without_stored(ask, unseen) for ask in asks])
    return found or Forbidden([Missing(urn, "EDIT_ENTITY") for urn in sorted(unseen)])


def _without_stored(ask: Ask, unseen: Collection[str]) -> Ask:
    if ask.resource is None or ask.resource.urn not in unseen:
        return ask
    empty = {name: () for name in _STORED if name in ask.requirement.others}
    return replace(ask, relatives={**empty, **ask.relatives})
