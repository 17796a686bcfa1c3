"""Domains, tags, terms and the like that were deleted before there were tombstones, and what still refers to them.

They are found in the record of changes, as the accounts of `policies` 0024 are. A name that exists again is none of
them: what refers to it stays. References to all that was deleted move to fields that no policy tests, and the task
removes them from the documents (docs/adr/0045-deleted-names.md). Batch by batch, since a record may have millions of rows.
"""

from itertools import islice

from django.db import migrations
from django.db.models import Exists, F, OuterRef, Q, Value
from django.db.models.functions import Concat

#: Types that other entities carry, in the order of their URNs.
TYPES = (
    "container",
    "dataPlatformInstance",
    "dataProduct",
    "domain",
    "glossaryNode",
    "glossaryTerm",
    "ownershipType",
    "tag",
)
#: Fields whose values are references that end with what they name, and what stands before those of ended ones.
REFERENCE_FIELDS = (
    "ASSET",
    "CONTAINER",
    "DATA_PLATFORM_INSTANCE",
    "DOMAIN",
    "GLOSSARY",
    "NODE_DOMAIN",
    "NODE_GLOSSARY",
    "NODE_INSTANCE",
    "OWNER",
    "ROLE_GROUP",
    "ROLE_USER",
    "TAG",
    "TERM_HAS",
    "TERM_IS",
    "TERM_RELATED",
    "TERM_VALUE",
)
HIDDEN_PREFIX = "GONE_"
OWNERSHIP_TYPE = "urn:li:ownershipType:"
BATCH_SIZE = 500


def read_batches(rows):
    """Yield the rows of a query as lists of some; it is read as it is worked through."""
    remaining = rows.iterator(chunk_size=BATCH_SIZE)
    while batch := list(islice(remaining, BATCH_SIZE)):
        yield batch


def mark_deleted(apps, _schema_editor):
    events = apps.get_model("policies", "ChangeEvent").objects
    tombstones = apps.get_model("policies", "Tombstone")
    entities = apps.get_model("catalog", "Entity").objects
    for type_name in TYPES:
        # A range of the index of the record. The deletion of a document is recorded under the URN, too, but then the
        # entity exists.
        beginning = f"urn:li:{type_name}:"
        deletions = events.filter(verb="DELETED", object_urn__gte=beginning, object_urn__lt=f"urn:li:{type_name};")
        for batch in read_batches(deletions.order_by("object_urn", "id").values_list("object_urn", "at")):
            deleted = dict(batch)
            existing = set(entities.filter(urn__in=list(deleted)).values_list("urn", flat=True))
            tombstones.objects.bulk_create(
                [tombstones(urn=urn, deleted_at=at) for urn, at in deleted.items() if urn not in existing],
                ignore_conflicts=True,
            )


def hide_references(apps, _schema_editor):
    gone = apps.get_model("policies", "Tombstone").objects.filter(is_pending=True, is_revived=False)
    for urns in read_batches(gone.order_by("id").values_list("urn", flat=True)):
        hide(apps.get_model("catalog", "Facet"), gone, urns)


def hide(facet_model, gone, urns):
    facets = facet_model.objects.order_by()
    owner_types = [urn for urn in urns if urn.startswith(OWNERSHIP_TYPE)]
    if owner_types:
        # Such an owner stays one, without a type.
        owners = facets.filter(field="OWNER", type__in=owner_types).exclude(value__in=gone.values("urn"))
        for batch in read_batches(owners.values_list("entity_id", "value")):
            facet_model.objects.bulk_create(
                [facet_model(entity_id=entity, field="OWNER", value=value, type="") for entity, value in batch],
                ignore_conflicts=True,
            )
    condition = Q(value__in=urns, field__in=REFERENCE_FIELDS) | Q(type__in=owner_types, field="OWNER")
    references = facets.filter(condition).exclude(value=F("entity__urn"))
    hidden = facet_model.objects.filter(
        entity=OuterRef("entity"),
        field=Concat(Value(HIDDEN_PREFIX), OuterRef("field")),
        value=OuterRef("value"),
        type=OuterRef("type"),
    )
    references.filter(Exists(hidden)).delete()
    references.update(field=Concat(Value(HIDDEN_PREFIX), F("field")))


class Migration(migrations.Migration):
    dependencies = [("catalog", "0017_table_markers"), ("policies", "0024_deleted_names")]

    operations = [
        migrations.RunPython(mark_deleted, migrations.RunPython.noop),
        migrations.RunPython(hide_references, migrations.RunPython.noop),
    ]
