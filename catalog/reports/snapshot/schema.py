"""The tables of a snapshot: what the engine reads, flattened, each as a schema and the query that fills it.

Whoever reads them relies on names and types; a change of either is a new SCHEMA.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from django.db.models import BooleanField, ExpressionWrapper, F, Q, QuerySet, TextField
from django.db.models.functions import Cast, Coalesce

from catalog.aspects.base import WORD
from catalog.models import Ancestry, Entity, EntityGroupGrant, EntityUserGrant, Facet, WildcardGrant
from policies.models import Membership, Policy, RoleAssignment, User, documents

#: The number of these schemas; it stands in the manifest of every snapshot.
SCHEMA = 2

FACETS = "facets"

_HOLDER_IN_GROUP = Coalesce(F("group__profile__urn"), F("group__role__urn"))
_HOLDER = Coalesce(F("user__urn"), _HOLDER_IN_GROUP)
_OF_REMOVED_GROUP = Q(group__profile__is_removed=True)


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and the rows in the order of these; `made` makes them of those of the query, if need be."""

    name: str
    schema: pa.Schema
    rows: Callable[[], QuerySet[Any, Any]]
    made: Callable[[Iterable[tuple[Any, ...]]], Iterator[tuple[Any, ...]]] | None = None


def _schema(**types: str) -> pa.Schema:
    """Return a schema; a type that ends in ? may be null."""
    fields = ((name, kind.removesuffix("?"), kind.endswith("?")) for name, kind in types.items())
    return pa.schema([pa.field(name, pa.type_for_alias(kind), nullable=may_be) for name, kind, may_be in fields])


def _entities() -> QuerySet[Any, Any]:
    rows = Entity.objects.filter(is_removed=False).order_by()
    return rows.values_list("pk", "urn", "type", "object_id", "project")


def _facets() -> QuerySet[Any, Any]:
    rows = Facet.objects.filter(entity__is_removed=False).exclude(field=WORD).order_by()
    return rows.values_list("entity_id", "field", "value", "type")


def _ancestries() -> QuerySet[Any, Any]:
    return Ancestry.objects.order_by().values_list("node", "ancestor")


def _users() -> QuerySet[Any, Any]:
    may_act = ExpressionWrapper(Q(state=User.State.ACTIVE, is_removed=False), output_field=BooleanField())
    return User.objects.order_by().annotate(may_act=may_act).values_list("urn", "may_act")


def _profiles() -> QuerySet[Any, Any]:
    rows = User.objects.order_by().annotate(said=Cast("extra", TextField()))
    return rows.values_list("urn", "email", "said")


def _circumstances(profiles: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    for urn, email, said in profiles:
        yield from ((urn, field, value) for field, value in sorted(documents.circumstances(email, said)))


def _memberships() -> QuerySet[Any, Any]:
    rows = Membership.objects.filter(group__profile__is_removed=False).order_by()
    return rows.values_list("user__urn", "group__profile__urn")


def _roles() -> QuerySet[Any, Any]:
    rows = RoleAssignment.objects.exclude(_OF_REMOVED_GROUP).order_by()
    return rows.annotate(holder=_HOLDER).values_list("holder", "role__urn")


def _grants() -> QuerySet[Any, Any]:
    users = EntityUserGrant.objects.order_by().annotate(holder=F("user__urn"))
    groups = EntityGroupGrant.objects.exclude(_OF_REMOVED_GROUP).order_by().annotate(holder=_HOLDER_IN_GROUP)
    columns = ("content_object_id", "permission__codename", "holder")
    found: QuerySet[Any, Any] = users.values_list(*columns).union(groups.values_list(*columns), all=True)
    return found


def _patterns() -> QuerySet[Any, Any]:
    rows = WildcardGrant.objects.exclude(_OF_REMOVED_GROUP).order_by().annotate(holder=_HOLDER)
    return rows.values_list("kind", "prefix", "privilege", "holder")


def _policies() -> QuerySet[Any, Any]:
    return Policy.objects.filter(state=Policy.State.ACTIVE).order_by().values_list("urn", "family", "name", "document")


TABLES = (
    # What is there, without what was removed, which no list shows; `entity` of the other tables is the number here.
    Table(
        "entities",
        _schema(number="int64", urn="string", type="string", object_id="string?", project="string?"),
        _entities,
    ),
    # Direct facts; `type` is the ownership type of an owner, else ''.
    Table(FACETS, _schema(entity="int64", field="string", value="string", type="string"), _facets),
    # Every node with everything above it, which closes the facts of hierarchies.
    Table("ancestries", _schema(node="string", ancestor="string"), _ancestries),
    Table("users", _schema(urn="string", may_act="bool"), _users),
    # What is known of users when they act, as conditions on properties read it.
    Table("circumstances", _schema(user="string", field="string", value="string"), _profiles, _circumstances),
    # Removed groups give nothing, so nothing of them is here.
    Table("memberships", _schema(user="string", group="string"), _memberships),
    Table("roles", _schema(holder="string", role="string"), _roles),
    Table("grants", _schema(entity="int64", privilege="string", holder="string"), _grants),
    # Grants on every entity of a kind whose URN begins alike.
    Table("patterns", _schema(kind="string", prefix="string", privilege="string", holder="string"), _patterns),
    # The active ones, each document as JSON.
    Table("policies", _schema(urn="string", family="string", name="string", document="string"), _policies),
)
