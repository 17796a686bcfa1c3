"""Changes of what entities carry in a preview: their names in the API, and how each is staged."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from policies.pdp.ports import CatalogStage

ADD_OWNERS, REMOVE_OWNERS = "add_owners", "remove_owners"
SET_DOMAIN, MOVE = "set_domain", "move"
ADD_TAGS, REMOVE_TAGS = "add_tags", "remove_tags"
ADD_TERMS, REMOVE_TERMS = "add_terms", "remove_terms"

FACT_KINDS = frozenset({ADD_OWNERS, REMOVE_OWNERS, SET_DOMAIN, MOVE, ADD_TAGS, REMOVE_TAGS, ADD_TERMS, REMOVE_TERMS})

#: Most owners, tags or terms in one change.
MAX_ATTACHMENTS = 100


class FactChange(NamedTuple):
    """What an entity would carry, or lie in: the entity, and the other fields of the change by name."""

    entity: str
    fields: Mapping[str, Any]


def read_fact_change(entity: str, owners: Iterable[Mapping[str, str]] | None = None, **fields: Any) -> FactChange:
    """Return a change from the fields of its form in the API; owners are pairs with a type ('' for none)."""
    if owners is not None:
        fields["owners"] = [(entry["owner"], entry.get("type", "")) for entry in owners]
    return FactChange(entity, fields)


def stage_fact_change(staged: CatalogStage, kind: str, change: FactChange) -> None:
    """Stage one change. Raises as `CatalogStage`."""
    actions: Mapping[str, Callable[..., None]] = {
        ADD_OWNERS: staged.add_owners,
        REMOVE_OWNERS: staged.remove_owners,
        SET_DOMAIN: staged.set_domain,
        MOVE: staged.move,
        ADD_TAGS: staged.add_tags,
        REMOVE_TAGS: staged.remove_tags,
        ADD_TERMS: staged.add_terms,
        REMOVE_TERMS: staged.remove_terms,
    }
    actions[kind](entity=change.entity, **change.fields)
