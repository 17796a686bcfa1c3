"""Permission to name URNs to a caller, as a condition on a column that holds URNs of anything, stored or not.

Lists of references between entities filter by it in the database, so that counts include only what may be named.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.functions import StrIndex, Substr

from catalog import urns as catalog_urns
from catalog.access import view_permissions
from catalog.models import Entity, prefix_range
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

_SCHEMA_FIELD_PREFIX = "urn:li:schemaField:("
#: Separator in the URN of a schema field: the end of the dataset's URN and the comma before the path.
_DATASET_END = "),"


@dataclass(frozen=True, slots=True)
class NamingPermissions:
    """URNs that may be named to one caller, as conditions on columns.

    Users, groups, roles and policies: when their type may be read. Stored entities: when the caller may view them.
    Unstored entities: when the caller may view an entity of which only the type is known. A schema field is as visible
    as its dataset. `closed_types` are the types of which no unstored entity may be named, None when the caller may view
    everything; `unreadable_people_types` are the types of people and policies that the caller may not read.
    """

    by: Actor
    unreadable_people_types: tuple[str, ...]
    closed_types: tuple[str, ...] | None

    @classmethod
    def load(cls, by: Actor) -> "NamingPermissions":
        """Load the permissions of a caller once, for any number of columns."""
        unreadable_people = _list_unreadable_types(catalog_urns.PEOPLE_TYPES, by)
        if not view_permissions.build_view_conditions(by=by):
            return cls(by, unreadable_people, None)
        return cls(
            by,
            unreadable_people,
            (
                *_list_unreadable_types(view_permissions.RESTRICTED_TYPES, by),
                *sorted(view_permissions.list_limited_types(by=by)),
            ),
        )

    def person_condition(self, column: str) -> Q:
        """Return the condition for a column that holds URNs of users, groups, roles and policies only."""
        return ~_type_condition(column, self.unreadable_people_types) | Q(**{column: self.by.urn})

    def condition(self, column: str) -> Q:
        """Return the condition that the URN in a column (a path from the row) may be named."""
        condition = self.person_condition(column)
        if self.closed_types is None:
            return condition
        entities = Entity.objects.order_by()
        viewable_entities = view_permissions.filter_viewable(entities, by=self.by)
        open_condition = Q(~Exists(entities.filter(urn=OuterRef(column)))) & ~_type_condition(column, self.closed_types)
        condition &= Q(Exists(viewable_entities.filter(urn=OuterRef(column)))) | open_condition
        end = StrIndex(OuterRef(column), Value(_DATASET_END))
        dataset = Substr(OuterRef(column), len(_SCHEMA_FIELD_PREFIX) + 1, end - len(_SCHEMA_FIELD_PREFIX))
        return condition & (
            ~_prefix_condition(column, [_SCHEMA_FIELD_PREFIX]) | Q(Exists(viewable_entities.filter(urn=dataset)))
        )


def list_nameable(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the stored entities and people that may be named to the caller; one query for the entities."""
    types = {urn: catalog_urns.entity_type(urn) for urn in urns}
    unreadable_types = set(_list_unreadable_types(catalog_urns.PEOPLE_TYPES & set(types.values()), by))
    people_urns = {urn for urn, type_ in types.items() if type_ in catalog_urns.PEOPLE_TYPES - unreadable_types}
    entity_urns = [urn for urn, type_ in types.items() if type_ not in catalog_urns.PEOPLE_TYPES]
    viewable_entities = view_permissions.filter_viewable(
        Entity.objects.filter(urn__among=entity_urns).order_by(), by=by
    )
    return frozenset({*people_urns, *viewable_entities.values_list("urn", flat=True)})


def _list_unreadable_types(types: Iterable[str], by: Actor) -> tuple[str, ...]:
    """Return the types of which the caller may not read an entity of which only the type is known."""
    read_requirement, type_names = datahub.load_operation_groups()["entity.read"], sorted(types)
    requests = [(by, AccessRequest(read_requirement, ResourceRef("", type_))) for type_ in type_names]
    decisions = authorizer.answer_many(requests=requests) if requests else []
    return tuple(type_ for type_, decision in zip(type_names, decisions, strict=True) if not decision.is_allowed)


def _type_condition(column: str, types: Iterable[str]) -> Q:
    return _prefix_condition(column, [f"urn:li:{type_}:" for type_ in types])


def _prefix_condition(column: str, prefixes: Collection[str]) -> Q:
    return prefix_range(column, prefixes) if prefixes else Q(pk__in=[])
