"""Refusals about entities that the caller may not view: the same words as where nothing is stored (view authorization).

Whoever may neither view nor edit an entity learns nothing from being refused: not that it is there, and not what it
belongs to.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from catalog.access import entity_lists, view_permissions
from catalog.access.aspect_documents import Documents
from policies.engine.model import Actor, Missing
from policies.errors import Forbidden, NotFound
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask

#: Relatives that the catalog knows of an entity where the question names none.
_STORED = ("domains", "subjects", "logical_parent", "parent", "term_group", "term_groups")


#: Relatives that are found by going up from what a question or document names.
_GROUPS = frozenset({"term_group", "term_groups", "new_term_group", "new_term_groups"})


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
    if view_permissions.hidden(urns=[urn], by=by):
        raise NotFound(f"There is no entity {urn}.")


def require_stored(*, urn: str, by: Actor) -> None:
    """Raise NotFound for an entity of the catalog that is not stored, or that the caller may not view."""
    require_visible(urn=urn, by=by)
    if not entity_lists.stored(urns=[urn]):
        raise NotFound(f"There is no entity {urn}.")


def find_refusal(*, by: Actor, asks: Sequence[Ask]) -> Forbidden | None:
    """Return the refusal of these changes, None when all are allowed.

    It names no hidden term group; and of a data product in no domain, which nobody may manage (source 000), it says
    what would help.
    """
    refusal = authorizer.find_refusal(by=by, asks=asks)
    if refusal and (lone := _list_lone(asks)):
        others = find_refusal(by=by, asks=[ask for ask in asks if ask not in lone])
        return Forbidden.join([_refuse_lone(lone), *([others] if others else [])])
    about = [ask for ask in asks if not _GROUPS.isdisjoint(ask.requirement.others)] if refusal else []
    if not about:
        return refusal
    urns = {ask.resource.urn for ask in about if ask.resource is not None}
    stored = authorizer.facets().relatives(urns=urns, names=("term_group", "term_groups"))
    named = {urn for found in stored.values() for groups in found.values() for urn in groups}
    named |= {urn for ask in about for name in _GROUPS & ask.relatives.keys() for urn in ask.relatives[name]}
    unseen = view_permissions.hidden(urns=named, by=by)
    return (
        authorizer.find_refusal(by=by, asks=[_without_groups(ask, unseen, stored) for ask in asks])
        if unseen
        else refusal
    )


def _refuse_lone(lone: Sequence[Ask]) -> Forbidden:
    urn = next(ask.resource.urn for ask in lone if ask.resource is not None)
    detail = (
        f"{urn} is in no domain, so nobody manages it. Put it into a domain first, which needs EDIT_DOMAINS_PRIVILEGE "
        "or EDIT_ENTITY on it; then MANAGE_DATA_PRODUCTS on that domain is enough."
    )
    return Forbidden((), detail)


def _list_lone(asks: Sequence[Ask]) -> list[Ask]:
    """Return those of the questions that only a domain of their entity could answer, and which has none."""
    about = [ask for ask in asks if ask.requirement.relatives == {"domains"} and ask.resource is not None]
    urns = {ask.resource.urn for ask in about if ask.resource is not None}
    stored = authorizer.facets().relatives(urns=urns, names=("domains",)) if urns else {}
    return [
        ask
        for ask in about
        if ask.resource is not None and not ask.relatives.get("domains", stored[ask.resource.urn]["domains"])
    ]


def _without_groups(ask: Ask, unseen: Collection[str], stored: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Ask:
    mine = stored.get(ask.resource.urn, {}) if ask.resource is not None else {}
    groups = {name: ask.relatives.get(name, mine.get(name, ())) for name in _GROUPS & ask.requirement.others}
    seen = {name: tuple(urn for urn in found if urn not in unseen) for name, found in groups.items()}
    return replace(ask, relatives={**ask.relatives, **seen})


def find_refusal_as_absent(*, by: Actor, asks: Sequence[Ask], unseen: Collection[str]) -> Forbidden:
    """Return what refuses these changes where the unseen entities are not stored; `asks` are those of that case.

    Where nothing would (the caller may make such entities), EDIT_ENTITY is what is missing.
    """
    found = find_refusal(by=by, asks=[_without_stored(ask, unseen) for ask in asks])
    return found or Forbidden([Missing(urn, "EDIT_ENTITY") for urn in sorted(unseen)])


def _without_stored(ask: Ask, unseen: Collection[str]) -> Ask:
    if ask.resource is None or ask.resource.urn not in unseen:
        return ask
    empty = {name: () for name in _STORED if name in ask.requirement.others}
    return replace(ask, relatives={**empty, **ask.relatives})
