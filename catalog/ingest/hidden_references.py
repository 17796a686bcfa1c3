"""References to what was deleted, as facets that no policy tests.

A document may go on naming a deleted domain, tag, term, product or owner until a task removes it, or because a source
repeats it. Such a reference is kept as a facet under a field of its own, so that the task finds the document, and so
that it counts neither now nor for a later object of that name (docs/adr/0045-deleted-names.md).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from django.db import transaction
from django.db.models import F, Q, Value
from django.db.models.functions import Concat

from catalog.aspects.base import FacetValue
from catalog.aspects.facet_fields import (
    ASSET,
    ROLE_GROUP,
    ROLE_USER,
    TERM_HAS,
    TERM_IS,
    TERM_RELATED,
    TERM_VALUE,
    UNTESTED_FIELDS,
)
from catalog.models import Facet
from policies.engine.selectors import CONTAINER, DATA_PLATFORM_INSTANCE, DOMAIN, GLOSSARY, OWNER, TAG
from policies.models import PolicyVersion, Tombstone
from policies.writes import deleted_names

if TYPE_CHECKING:
    from django.db.models import QuerySet

#: Fields whose values are references that end with what they name.
REFERENCE_FIELDS = frozenset(
    {
        OWNER,
        DOMAIN,
        TAG,
        GLOSSARY,
        CONTAINER,
        DATA_PLATFORM_INSTANCE,
        *UNTESTED_FIELDS.values(),
        TERM_IS,
        TERM_HAS,
        TERM_VALUE,
        TERM_RELATED,
        ROLE_USER,
        ROLE_GROUP,
        ASSET,
    }
)
#: Before the field of a reference to something that was deleted.
HIDDEN_PREFIX = "GONE_"
_HIDDEN_FIELDS = frozenset(HIDDEN_PREFIX + field for field in REFERENCE_FIELDS)

#: Most entities whose facts are dropped one by one; for more every process drops all.
_MAX_TOUCHED = 2_000

Key = TypeVar("Key")


def list_references(urns: Collection[str], *, with_hidden: bool = True) -> "QuerySet[Facet]":
    """Return the facets by which other entities refer to one of these URNs, as a value or as the type of an owner."""
    fields = REFERENCE_FIELDS | _HIDDEN_FIELDS if with_hidden else REFERENCE_FIELDS
    condition = Q(value__among=list(urns), field__among=sorted(fields))
    owner_types = [urn for urn in urns if urn.startswith("urn:li:ownershipType:")]
    if owner_types:
        owner_fields = [OWNER, HIDDEN_PREFIX + OWNER] if with_hidden else [OWNER]
        condition |= Q(type__among=owner_types, field__among=owner_fields)
    # A node is a value of itself.
    return Facet.objects.filter(condition).exclude(value=F("entity__urn")).order_by()


def find_referred(urns: Collection[str]) -> frozenset[str]:
    """Return those of these URNs to which a document of another entity refers; one query."""
    rows = list_references(urns).values_list("value", "type").distinct()
    return frozenset(urn for pair in rows for urn in pair).intersection(urns)


def detach_references(urns: Collection[str]) -> None:
    """Hide the references to these URNs inside an open write, and touch the entities that have them.

    An owner whose ownership type was deleted stays an owner without a type. A row that another write has locked is left
    to the task: who deletes a user does not wait for writers of the catalog.
    """
    rows = Facet.objects.filter(pk__in=list_references(urns, with_hidden=False).values("pk")).order_by("pk")
    references = list(rows.select_for_update(skip_locked=True).values_list("pk", "entity", "field", "value", "type"))
    if not references:
        return
    deleted_urns = frozenset(urns)
    Facet.objects.bulk_create(
        [
            Facet(entity_id=entity, field=field, value=value)
            for _, entity, field, value, owner_type in references
            if owner_type in deleted_urns and value not in deleted_urns
        ],
        batch_size=2000,
        ignore_conflicts=True,
    )
    hidden_rows = Facet.objects.filter(pk__among=[pk for pk, *_ in references])
    entities = set(hidden_rows.order_by().values_list("entity__urn", flat=True).distinct()[: _MAX_TOUCHED + 1])
    hidden_rows.update(field=Concat(Value(HIDDEN_PREFIX), F("field")))
    if len(entities) > _MAX_TOUCHED:
        PolicyVersion.touch_everything()
    else:
        PolicyVersion.touch(entities)


def detach_deleted(
    facets: Mapping[Key, frozenset[FacetValue]], *, stored_facets: Mapping[Key, Collection[FacetValue]]
) -> dict[Key, frozenset[FacetValue]]:
    """Return facets, by entity, with the references to what was deleted hidden; at most one query.

    `stored_facets` are those that the entities have: one that is hidden there stays so, though an object of that name
    may exist again by now.
    """
    referred_urns = {
        urn
        for entity_facets in facets.values()
        for facet in entity_facets
        if facet.field in REFERENCE_FIELDS
        for urn in (facet.value, facet.type)
        if urn
    }
    deleted_urns = Tombstone.find(referred_urns)
    hidden_facets = {
        key: {facet for facet in entity_facets if facet.field in _HIDDEN_FIELDS}
        for key, entity_facets in stored_facets.items()
    }
    if not deleted_urns and not any(hidden_facets.values()):
        return dict(facets)
    return {
        key: frozenset(
            shown_facet
            for facet in entity_facets
            for shown_facet in _show_facet(facet, deleted_urns, hidden_facets.get(key, frozenset()))
        )
        for key, entity_facets in facets.items()
    }


def _show_facet(
    facet: FacetValue, deleted_urns: Collection[str], hidden_facets: Collection[FacetValue]
) -> tuple[FacetValue, ...]:
    """Return the facet to store: itself, or hidden, and an owner of a deleted type as one without type."""
    if facet.field not in REFERENCE_FIELDS:
        return (facet,)
    hidden_facet = facet._replace(field=HIDDEN_PREFIX + facet.field)
    if facet.value in deleted_urns:
        return (hidden_facet,)
    if facet.type in deleted_urns:
        return (hidden_facet, facet._replace(type=""))
    return (hidden_facet,) if hidden_facet in hidden_facets else (facet,)


def load_hidden() -> dict[int, frozenset[FacetValue]]:
    """Return primary key of each entity -> its references that are hidden."""
    hidden_facets: dict[int, set[FacetValue]] = defaultdict(set)
    rows = Facet.objects.filter(field__among=sorted(_HIDDEN_FIELDS)).order_by()
    for entity, *facet in rows.values_list("entity", "field", "value", "type"):
        hidden_facets[entity].add(FacetValue(*facet))
    return {entity: frozenset(facets) for entity, facets in hidden_facets.items()}


def revive_names(urns: Collection[str]) -> None:
    """Note that entities with these names are created inside an open write.

    Policies that still name a former entity of that name do not count for it, and the task removes the name.
    """
    deleted_urns = Tombstone.find(urns)
    if not deleted_urns:
        return
    named_urns = find_referred(deleted_urns)
    Tombstone.objects.filter(urn__among=sorted(named_urns)).update(is_revived=True, is_pending=True)
    Tombstone.remove(deleted_urns - named_urns)
    if named_urns:
        transaction.on_commit(partial(deleted_names.enqueue_removal, sorted(named_urns)))
