"""What entities say of one another: the facts about them, and what ties people to people, under DataHub's names."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from catalog.access.naming_permissions import Nameable
from catalog.access.people_records import build_visible_ties
from catalog.aspects.base import (
    ACCESS_ROLE,
    ASSET,
    BESIDE,
    ROLE_GROUP,
    ROLE_USER,
    SUBJECT,
    TERM_HAS,
    TERM_IS,
    TERM_RELATED,
    TERM_VALUE,
)
from catalog.models import Entity, Facet
from policies.engine import selectors
from policies.engine.model import Actor
from policies.identity.queries import relationships
from policies.models.fields import is_storable

#: Field of a fact → what the relationship is called that it makes.
NAMES: Mapping[str, str] = {
    ACCESS_ROLE: "AssociatedWith",
    ASSET: "DataProductContains",
    selectors.CONTAINER: "IsPartOf",
    selectors.DATA_PLATFORM_INSTANCE: "IsPartOf",
    selectors.DOMAIN: "AssociatedWith",
    selectors.GLOSSARY: "TermedWith",
    selectors.OWNER: "OwnedBy",
    selectors.TAG: "TaggedWith",
    ROLE_GROUP: "Has",
    ROLE_USER: "Has",
    SUBJECT: "IsAssociatedWith",
    TERM_HAS: "HasA",
    TERM_IS: "IsA",
    TERM_RELATED: "IsRelatedTo",
    TERM_VALUE: "HasValue",
    BESIDE[selectors.DATA_PLATFORM_INSTANCE]: "IsPartOf",
    BESIDE[selectors.DOMAIN]: "AssociatedWith",
    BESIDE[selectors.GLOSSARY]: "TermedWith",
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
    """Part of a list of relationships, by name and URN; `total` is how long the list is."""

    total: int
    shown: tuple[Related, ...]


@dataclass(frozen=True, slots=True)
class Bond:
    """Rows that each say a relationship: its name, and the paths to the URNs of this side and of the other one.

    `is_of_people`: on the other side are users, groups, roles and policies only.
    """

    name: Combinable
    rows: QuerySet[Any]
    near: str
    far: str
    is_of_people: bool = False

    def named(self, may_name: Nameable) -> QuerySet[Any]:
        """Return the rows, without an order, whose other side may be named; each with its `relationship`."""
        condition = may_name.person(self.far) if self.is_of_people else may_name.condition(self.far)
        condition &= build_visible_ties(model=self.rows.model, by=may_name.by)
        found: QuerySet[Any] = self.rows.order_by().filter(condition).annotate(relationship=self.name)
        return found


def related(*, urn: str, is_incoming: bool, names: Collection[str], start: int, count: int, by: Actor) -> Page:
    """Return a page of what an entity is related to; `names` empty means every relationship.

    Two queries, and those of what the caller may view. Entities that the caller may not view, users, groups, roles and
    policies where they may not be listed, and memberships of users whose records it may not see are neither named nor
    counted.
    """
    if not is_storable(urn):
        return Page(0, ())
    may_name = Nameable.to(by)
    # Alike for all, and without an order of their own: else they could not be put together.
    parts = [
        bond.named(may_name).annotate(other=F(bond.far)).values_list("relationship", "other")
        for bond in bonds(urns=[urn], is_incoming=is_incoming, names=names)
    ]
    if not parts:
        return Page(0, ())
    whole = parts[0].union(*parts[1:]) if len(parts) > 1 else parts[0].distinct()
    page = tuple(Related(*row) for row in whole.order_by("relationship", "other")[start : start + count])
    return Page(whole.count(), page)


def bonds(*, urns: Collection[str], is_incoming: bool, names: Collection[str]) -> Iterator[Bond]:
    """Yield the relationships of these entities that have one of these names; no names mean every relationship."""
    fields = [field for field, name in NAMES.items() if not names or name in names]
    facets, near, far = Facet.objects.filter(field__in=fields).exclude(value=F("entity__urn")), "entity__urn", "value"
    parts, here, there = Entity.objects.filter(~_SAID, parent__isnull=False), "urn", "parent"
    if is_incoming:
        near, far, here, there = far, near, there, here
    if fields:
        cases = [When(field=field, then=Value(NAMES[field])) for field in fields]
        named = Case(*cases, output_field=CharField())
        yield Bond(named, facets.filter(**{f"{near}__among": urns}), near, far)
    if not names or _PART in names:
        yield Bond(_called(_PART), parts.filter(**{f"{here}__among": urns}), here, there)
    ties = relationships.incoming_of(urns=urns) if is_incoming else relationships.outgoing_of(urns=urns)
    for name, rows, mine, other in ties:
        if not names or name in names:
            yield Bond(_called(name), rows, mine, other, is_of_people=True)


def _called(name: str) -> Value:
    return Value(name, output_field=CharField())
