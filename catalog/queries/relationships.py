"""What entities say of one another: the facts about them, and what ties people to people, under DataHub's names."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from django.db.models import CharField, Exists, F, OuterRef, Q, Value

from catalog import urns as urn_room
from catalog.aspects.base import ACCESS_ROLE, ASSET, BESIDE, ROLE_GROUP, ROLE_USER, SUBJECT
from catalog.models import Entity, Facet
from catalog.queries import viewing
from policies import authority
from policies.authority import Ask, Asked
from policies.engine import matching
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.models.fields import is_storable
from policies.queries import relations
from policies.queries.relations import Bonds

#: Field of a fact → what the relationship is called that it makes.
NAMES: Mapping[str, str] = {
    ACCESS_ROLE: "AssociatedWith",
    ASSET: "DataProductContains",
    matching.CONTAINER: "IsPartOf",
    matching.DATA_PLATFORM_INSTANCE: "IsPartOf",
    matching.DOMAIN: "AssociatedWith",
    matching.GLOSSARY: "TermedWith",
    matching.OWNER: "OwnedBy",
    matching.TAG: "TaggedWith",
    ROLE_GROUP: "Has",
    ROLE_USER: "Has",
    SUBJECT: "IsAssociatedWith",
    BESIDE[matching.DATA_PLATFORM_INSTANCE]: "IsPartOf",
    BESIDE[matching.DOMAIN]: "AssociatedWith",
    BESIDE[matching.GLOSSARY]: "TermedWith",
}

_PART = "IsPartOf"
#: Whether a fact says as well what an entity lies in, so that the relationship is there already.
_SAID = Q(
    Exists(
        Facet.objects.filter(
            entity=OuterRef("pk"),
            field__in=[field for field, name in NAMES.items() if name == _PART],
            value=OuterRef("parent"),
        )
    )
)


@dataclass(frozen=True, slots=True)
class Related:
    """The other side of a relationship."""

    name: str
    urn: str


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a list of relationships, by name and URN. `rows` were on the page, `shown` may be named to the caller."""

    total: int
    rows: int
    shown: tuple[Related, ...]


def related(*, urn: str, is_incoming: bool, names: Collection[str], start: int, count: int, by: Actor) -> Page:
    """Return a page of what an entity is related to; `names` empty means every relationship.

    Two queries, and those of what the caller may view. Entities that the caller may not view, and users, groups, roles
    and policies where they may not be listed, are counted and not named.
    """
    if not is_storable(urn):
        return Page(0, 0, ())
    found = bonds(urns=[urn], is_incoming=is_incoming)
    # Alike for all, and without an order of their own: else they could not be put together.
    parts = [
        rows.order_by()
        .annotate(relationship=Value(name, output_field=CharField()), other=F(path))
        .values_list("relationship", "other")
        for name, rows, _, path in found
        if not names or name in names
    ]
    if not parts:
        return Page(0, 0, ())
    whole = parts[0].union(*parts[1:]) if len(parts) > 1 else parts[0].distinct()
    page = [Related(*row) for row in whole.order_by("relationship", "other")[start : start + count]]
    hidden = concealed(urns={one.urn for one in page}, by=by)
    return Page(whole.count(), len(page), tuple(one for one in page if one.urn not in hidden))


def bonds(*, urns: Collection[str], is_incoming: bool) -> Iterator[Bonds]:
    """Yield the relationships of these entities, each as its name, rows, and the paths to this side and the other."""
    yield from _incoming(urns) if is_incoming else _outgoing(urns)


def _outgoing(urns: Collection[str]) -> Iterator[Bonds]:
    for name, field in _fields():
        rows = Facet.objects.filter(entity__urn__among=urns, field__in=field)
        yield name, rows.exclude(value=F("entity__urn")), "entity__urn", "value"
    yield _PART, Entity.objects.filter(~_SAID, urn__among=urns, parent__isnull=False), "urn", "parent"
    yield from relations.outgoing_of(urns=urns)


def _incoming(urns: Collection[str]) -> Iterator[Bonds]:
    for name, field in _fields():
        rows = Facet.objects.filter(value__among=urns, field__in=field)
        yield name, rows.exclude(value=F("entity__urn")), "value", "entity__urn"
    yield _PART, Entity.objects.filter(~_SAID, parent__among=urns), "parent", "urn"
    yield from relations.incoming_of(urns=urns)


def _fields() -> Iterator[tuple[str, list[str]]]:
    for name in dict.fromkeys(NAMES.values()):
        yield name, [field for field, one in NAMES.items() if one == name]


def concealed(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those that may not be named to the caller: not viewed, or of people or policies that it may not list."""
    types = {urn: urn_room.type_of(urn) for urn in urns}
    kinds = sorted(urn_room.PEOPLE_TYPES & set(types.values()))
    reading = datahub.groups()["entity.read"]
    decisions = authority.answer_many(asks=[(by, Ask(reading, Asked("", kind))) for kind in kinds]) if kinds else []
    closed = {kind for kind, decision in zip(kinds, decisions, strict=True) if not decision.is_allowed}
    ordinary = [urn for urn, type_ in types.items() if type_ not in urn_room.PEOPLE_TYPES]
    return viewing.hidden(urns=ordinary, by=by) | {urn for urn, type_ in types.items() if type_ in closed}
