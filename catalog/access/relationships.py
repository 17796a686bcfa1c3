"""Relationships between entities, from facets and from ties between people, under DataHub's names."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import Combinable

from catalog.access.naming_permissions import NamingPermissions
from catalog.access.people_records import build_tie_condition
from catalog.aspects.facet_fields import (
    ACCESS_ROLE,
    ASSET,
    ROLE_GROUP,
    ROLE_USER,
    SUBJECT,
    TERM_HAS,
    TERM_IS,
    TERM_RELATED,
    TERM_VALUE,
    UNTESTED_FIELDS,
)
from catalog.models import Entity, Facet
from policies.engine import selectors
from policies.engine.model import Actor
from policies.identity.queries import relationships
from policies.models.fields import is_storable

#: Facet field -> name of the relationship that it makes.
RELATIONSHIP_NAMES: Mapping[str, str] = {
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
    UNTESTED_FIELDS[selectors.DATA_PLATFORM_INSTANCE]: "IsPartOf",
    UNTESTED_FIELDS[selectors.DOMAIN]: "AssociatedWith",
    UNTESTED_FIELDS[selectors.GLOSSARY]: "TermedWith",
}

_PART_RELATIONSHIP = "IsPartOf"
#: True when a facet already gives the relationship of an entity to its parent.
_HAS_PARENT_FACET = Q(
    Exists(
        Facet.objects.filter(
            entity=OuterRef("pk"),
            field__in=[field for field, name in RELATIONSHIP_NAMES.items() if name == _PART_RELATIONSHIP],
            value=OuterRef("parent"),
        )
    )
)


@dataclass(frozen=True, slots=True)
class RelatedEntity:
    """The other side of a relationship."""

    name: str
    urn: str


@dataclass(frozen=True, slots=True)
class RelationshipPage:
    """One page of relationships, by name and URN; `total` is the number of all."""

    total: int
    related: tuple[RelatedEntity, ...]


@dataclass(frozen=True, slots=True)
class RelationshipRows:
    """Rows that each represent a relationship: its name, and the paths to the URNs of this side and the other.

    `is_of_people`: the other side holds users, groups, roles and policies only.
    """

    name: Combinable
    rows: QuerySet[Any]
    near_path: str
    far_path: str
    is_of_people: bool = False

    def filter_nameable(self, nameable: NamingPermissions) -> QuerySet[Any]:
        """Return the rows, unordered, whose other side may be named, annotated with `relationship`."""
        condition = nameable.person_condition(self.far_path) if self.is_of_people else nameable.condition(self.far_path)
        condition &= build_tie_condition(model=self.rows.model, by=nameable.by)
        rows: QuerySet[Any] = self.rows.order_by().filter(condition).annotate(relationship=self.name)
        return rows


def list_related(
    *, urn: str, is_incoming: bool, names: Collection[str], start: int, count: int, by: Actor
) -> RelationshipPage:
    """Return a page of the relationships of an entity; empty `names` means all.

    Two queries, plus those of the naming permissions. Entities that the caller may not view, users, groups, roles and
    policies that it may not list, and memberships of users whose records it may not see are neither named nor counted.
    """
    if not is_storable(urn):
        return RelationshipPage(0, ())
    nameable = NamingPermissions.load(by)
    # A union needs the same columns in every part and no ordering of their own.
    parts = [
        source.filter_nameable(nameable).annotate(other=F(source.far_path)).values_list("relationship", "other")
        for source in list_relationship_rows(urns=[urn], is_incoming=is_incoming, names=names)
    ]
    if not parts:
        return RelationshipPage(0, ())
    union = parts[0].union(*parts[1:]) if len(parts) > 1 else parts[0].distinct()
    page = tuple(RelatedEntity(*row) for row in union.order_by("relationship", "other")[start : start + count])
    return RelationshipPage(union.count(), page)


def list_relationship_rows(
    *, urns: Collection[str], is_incoming: bool, names: Collection[str]
) -> Iterator[RelationshipRows]:
    """Yield the row sources of these entities' relationships with one of these names; no names means all."""
    fields = [field for field, name in RELATIONSHIP_NAMES.items() if not names or name in names]
    facets, near_path, far_path = (
        Facet.objects.filter(field__in=fields).exclude(value=F("entity__urn")),
        "entity__urn",
        "value",
    )
    part_rows, part_near_path, part_far_path = (
        Entity.objects.filter(~_HAS_PARENT_FACET, parent__isnull=False),
        "urn",
        "parent",
    )
    if is_incoming:
        near_path, far_path, part_near_path, part_far_path = far_path, near_path, part_far_path, part_near_path
    if fields:
        cases = [When(field=field, then=Value(RELATIONSHIP_NAMES[field])) for field in fields]
        name_expression = Case(*cases, output_field=CharField())
        yield RelationshipRows(name_expression, facets.filter(**{f"{near_path}__among": urns}), near_path, far_path)
    if not names or _PART_RELATIONSHIP in names:
        yield RelationshipRows(
            _name_expression(_PART_RELATIONSHIP),
            part_rows.filter(**{f"{part_near_path}__among": urns}),
            part_near_path,
            part_far_path,
        )
    ties = relationships.list_incoming(urns=urns) if is_incoming else relationships.list_outgoing(urns=urns)
    for name, rows, tie_near_path, tie_far_path in ties:
        if not names or name in names:
            yield RelationshipRows(_name_expression(name), rows, tie_near_path, tie_far_path, is_of_people=True)


def _name_expression(name: str) -> Value:
    return Value(name, output_field=CharField())
