"""The tables of a snapshot: schemas of what the engine reads, and the queries that fill them.

Readers rely on names and types; a change of either requires a new `reader.SCHEMA_VERSION`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet, TextField
from django.db.models.functions import Cast, Coalesce

from catalog.access.grant_rows import select_grants
from catalog.aspects.facet_fields import WORD
from catalog.models import Ancestry, Entity, Facet
from policies.models import Membership, RoleAssignment, User, documents
from policies.pdp import active_policies

FACETS_TABLE = "facets"

_HOLDER = Coalesce(F("user__urn"), F("group__profile__urn"), F("group__role__urn"))
_HAS_REMOVED_GROUP = Q(group__profile__is_removed=True)


@dataclass(frozen=True, slots=True)
class SnapshotTable:
    """A table: its columns and the query of its rows; `transform` converts rows of the query, if set.

    `number_column` is the column of the query with the number of an entity; the rows are then written in its order, in
    several files.
    """

    name: str
    schema: pa.Schema
    rows: Callable[[], QuerySet[Any, Any]]
    transform: Callable[[Iterable[tuple[Any, ...]]], Iterator[tuple[Any, ...]]] | None = None
    number_column: str | None = None


def _build_schema(**types: str) -> pa.Schema:
    """Return a schema; a type that ends in ? is nullable."""
    fields = ((name, type_name.removesuffix("?"), type_name.endswith("?")) for name, type_name in types.items())
    return pa.schema(
        [pa.field(name, pa.type_for_alias(type_name), nullable=is_nullable) for name, type_name, is_nullable in fields]
    )


def _select_entities() -> QuerySet[Any, Any]:
    rows = Entity.objects.filter(is_removed=False).order_by()
    return rows.values_list("pk", "urn", "type", "object_id", "project")


def _select_facets() -> QuerySet[Any, Any]:
    rows = Facet.objects.filter(entity__is_removed=False).exclude(field=WORD).order_by()
    return rows.values_list("entity_id", "field", "value", "type")


def _select_ancestries() -> QuerySet[Any, Any]:
    return Ancestry.objects.order_by().values_list("node", "ancestor")


def _select_users() -> QuerySet[Any, Any]:
    may_act = ExpressionWrapper(Q(state=User.State.ACTIVE, is_removed=False), output_field=BooleanField())
    return User.objects.order_by().annotate(may_act=may_act).values_list("urn", "may_act")


def _select_profiles() -> QuerySet[Any, Any]:
    rows = User.objects.order_by().annotate(said=Cast("extra", TextField()))
    return rows.values_list("urn", "email", "said")


def _build_circumstances(profiles: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for urn, email, extra_text in profiles:
        yield from ((urn, field, value) for field, value in sorted(documents.actor_attributes(email, extra_text)))


def _select_memberships() -> QuerySet[Any, Any]:
    rows = Membership.objects.filter(group__profile__is_removed=False).order_by()
    return rows.values_list("user__urn", "group__profile__urn")


def _select_roles() -> QuerySet[Any, Any]:
    rows = RoleAssignment.objects.exclude(_HAS_REMOVED_GROUP).order_by()
    return rows.annotate(holder=_HOLDER).values_list("holder", "role__urn")


def _select_grants() -> QuerySet[Any, Any]:
    users, groups, _ = select_grants()
    columns = ("content_object_id", "granted", "holder")
    rows: QuerySet[Any, Any] = users.values_list(*columns).union(groups.values_list(*columns), all=True)
    return rows


def _select_patterns() -> QuerySet[Any, Any]:
    _, _, patterns = select_grants()
    return patterns.order_by().values_list("kind", "prefix", "granted", "holder")


def _select_policies() -> QuerySet[Any, Any]:
    return active_policies.list_active_policies().order_by().values_list("urn", "family", "name", "document")


TABLES = (
    # Entities without removed ones, which no list shows; `entity` of the other tables is `number` here.
    SnapshotTable(
        "entities",
        _build_schema(number="int64", urn="string", type="string", object_id="string?", project="string?"),
        _select_entities,
        number_column="pk",
    ),
    # Direct facets; `type` is the ownership type of an owner, else ''.
    SnapshotTable(
        FACETS_TABLE,
        _build_schema(entity="int64", field="string", value="string", type="string"),
        _select_facets,
        number_column="entity_id",
    ),
    # Every node with each of its ancestors, to expand the facets of hierarchies.
    SnapshotTable("ancestries", _build_schema(node="string", ancestor="string"), _select_ancestries),
    SnapshotTable("users", _build_schema(urn="string", may_act="bool"), _select_users),
    # Attributes of users, which conditions on properties test.
    SnapshotTable(
        "circumstances",
        _build_schema(user="string", field="string", value="string"),
        _select_profiles,
        _build_circumstances,
    ),
    # Removed groups grant nothing and are left out here and below.
    SnapshotTable("memberships", _build_schema(user="string", group="string"), _select_memberships),
    SnapshotTable("roles", _build_schema(holder="string", role="string"), _select_roles),
    SnapshotTable("grants", _build_schema(entity="int64", privilege="string", holder="string"), _select_grants),
    # Wildcard grants: every entity of a kind whose URN has the prefix.
    SnapshotTable(
        "patterns", _build_schema(kind="string", prefix="string", privilege="string", holder="string"), _select_patterns
    ),
    # Active policies, each document as JSON.
    SnapshotTable(
        "policies", _build_schema(urn="string", family="string", name="string", document="string"), _select_policies
    ),
)
