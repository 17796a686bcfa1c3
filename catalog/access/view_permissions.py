"""What a caller may view: the same for every door, while VIEW_AUTHORIZATION_ENABLED is on.

CDAP's entities are viewed by who could list them (rules/cdap.md CD-12, CD-22) and by who administers the instance,
since those grant anywhere; a namespace by everybody (CD-13), a CDAP dataset as every other dataset.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from catalog import urns as urn_room
from catalog.access.coverage_sql import reached_by_any
from catalog.access.grant_coverage_sql import holding, is_instance_administrator
from catalog.aspects.base import WITHIN
from catalog.models import Entity, Facet
from policies.engine.families import cdap, cdap_entity_ids, datahub
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor, Coverage
from policies.engine.requirements import Requirement
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked
from policies.pdp.per_snapshot import kept

#: Types of which VIEW_AUTHORIZATION_ENABLED hides what may not be viewed; the others stay open (rules/datahub.md a.10).
RESTRICTED = frozenset(
    {
        "chart",
        "dashboard",
        "dataFlow",
        "dataHubView",
        "dataJob",
        "dataProduct",
        "dataset",
        "domain",
        "glossaryNode",
        "glossaryTerm",
        "mlFeature",
        "mlFeatureTable",
        "mlModel",
        "mlModelGroup",
        "mlPrimaryKey",
        "notebook",
        "query",
    }
)

#: CDAP's kinds that are not viewed by who could list them.
_LISTED_OTHERWISE = frozenset({cdap_entity_ids.INSTANCE, cdap_entity_ids.NAMESPACE, cdap_entity_ids.DATASET})


def viewable(rows: QuerySet[Entity], *, by: Actor) -> QuerySet[Entity]:
    """Keep what the caller may view, in the same statement that finds it."""
    for condition in limits(by=by):
        rows = rows.filter(condition)
    return rows


def limits(*, by: Actor) -> list[Q]:
    """Return the conditions, all of which an entity has to meet to be viewed by the caller; none: everything is."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return []
    found = _listable(by)
    readable = kept((__name__, by, settings.AUTH_POLICIES_ENABLED), lambda: _readable(by))
    return found if readable is None else [*found, readable]


def is_concealed_type(type_: str) -> bool:
    """Whether an entity of this type that a caller may not view is answered about as one that is not stored."""
    return settings.VIEW_AUTHORIZATION_ENABLED and type_ in RESTRICTED


def may_view(entity: Entity, *, by: Actor) -> bool:
    """Whether the caller may view one entity."""
    return not hidden(urns=[entity.urn], by=by)


def hidden(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those that the caller may not view, stored or not, in a number of queries that does not grow.

    A column is as visible as its dataset. What is no URN hides nothing.
    """
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return frozenset()
    standing = {urn: _standing(urn) for urn in urns}
    needed = {one: requirement for one in sorted(set(standing.values())) if (requirement := _needed(one, by))}
    asks = [(by, Ask(requirement, Asked(one))) for one, requirement in needed.items()]
    decisions = authorizer.answer_many(asks=asks) if asks else []
    refused = {one for one, decision in zip(needed, decisions, strict=True) if not decision.is_allowed}
    return frozenset(urn for urn, one in standing.items() if one in refused)


def redacted(documents: Mapping[str, Any], *, by: Actor) -> dict[str, Any]:
    """Return parsed documents without what names an entity that the caller may not view."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return dict(documents)
    concealed = hidden(urns=set(_named(documents)), by=by)
    return {name: _without(document, concealed) for name, document in documents.items()}


def listed_types(*, by: Actor) -> frozenset[str]:
    """Return CDAP's types of which the caller views only what it could list; none where it may list everything."""
    return (
        frozenset()
        if not _listable(by)
        else (cdap_entity_ids.OWN_KINDS | {cdap_entity_ids.APPLICATION}) - _LISTED_OTHERWISE
    )


def _readable(by: Actor) -> Q | None:
    """Return the condition that an entity is of an open type or may be read; None: all of them may.

    Grants have no say about reading, so that it follows from the policies and the actor alone.
    """
    coverages = [authorizer.visible(actor=by, privilege=privilege) for privilege in sorted(_reading().privileges)]
    if any(_is_boundless(coverage) for coverage in coverages):
        return None
    return ~Q(type__among=RESTRICTED) | reached_by_any(coverages)


def _listable(by: Actor) -> list[Q]:
    """Leave out the CDAP entities that the caller could not list."""
    if by.urn == authorizer.SYSTEM.urn or is_instance_administrator(by) or not settings.AUTH_POLICIES_ENABLED:
        return []
    lying = Facet.objects.filter(field=WITHIN, value=INSTANCE_URN).values("entity")
    return [~Q(pk__in=lying) | Q(type__among=_LISTED_OTHERWISE) | holding(by, cdap.LISTING)]


def _needed(urn: str, by: Actor) -> Requirement | None:
    """Return what viewing an entity needs, None where it needs nothing."""
    if urn_room.type_of(urn) in RESTRICTED:
        return _reading()
    name = cdap_entity_ids.read(urn)
    if name is None or name.kind in _LISTED_OTHERWISE or is_instance_administrator(by):
        return None
    return cdap.requirement(f"{name.kind}.{cdap.Applied.LIST.value}")


def _reading() -> Requirement:
    return datahub.groups()["entity.read"]


def _is_boundless(coverage: Coverage) -> bool:
    """Whether it takes no look at the entities: an allow without any condition, and no deny."""
    is_free = any(cover.is_unconditional and not cover.selector.criteria for cover in coverage.allows)
    return coverage.is_everything or (is_free and not coverage.denies)


def _standing(urn: str) -> str:
    return next(iter(urn_room.dataset_of(urn)), urn)


def _named(value: Any) -> Iterable[str]:
    """Walk every text and key of a parsed document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield key
            yield from _named(one)
    elif isinstance(value, list):
        for one in value:
            yield from _named(one)


def _without(value: Any, concealed: Collection[str]) -> Any:
    """Leave out keys that hold a concealed URN or are one, and entries of lists that are or name one."""
    if isinstance(value, Mapping):
        kept = ((key, one) for key, one in value.items() if key not in concealed and not _is_concealed(one, concealed))
        return {key: _without(one, concealed) for key, one in kept}
    if isinstance(value, list):
        kept_entries = (one for one in value if not _is_concealed(one, concealed) and not _names(one, concealed))
        return [_without(one, concealed) for one in kept_entries]
    return value


def _is_concealed(value: Any, concealed: Collection[str]) -> bool:
    return isinstance(value, str) and value in concealed


def _names(entry: Any, concealed: Collection[str]) -> bool:
    return isinstance(entry, Mapping) and any(_is_concealed(one, concealed) for one in entry.values())
