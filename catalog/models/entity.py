"""Entities, their documents, and everything derived from these.

`Aspect` holds the documents as received. `Facet`, `Ancestry` and the columns name, parent and is_removed of `Entity`
are a projection of them, written in the same transaction, which can be rebuilt at any time (`rebuild_facets`).
"""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from catalog.aspects.facet_fields import MAX_NAME_LENGTH
from policies.models.fields import BytewiseCharField, UrnField

#: Types whose hierarchies are closed in `Ancestry`.
NODE_TYPES = ("container", "domain", "glossaryNode", "glossaryTerm")


class Entity(models.Model):
    """An entity of the catalog.

    `object_id` is 24 lower-case hexadecimal digits, unique per type, or null; `project` is the object id of its
    project; `parent` is the URN of its direct container, whether or not that is stored.
    """

    urn = UrnField(unique=True)
    type = BytewiseCharField(max_length=64)
    name = BytewiseCharField(max_length=MAX_NAME_LENGTH, blank=True)
    object_id = BytewiseCharField(max_length=24, null=True, blank=True)
    project = BytewiseCharField(max_length=24, null=True, blank=True)
    parent = UrnField(null=True, blank=True)
    is_removed = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        ordering = ("name", "urn")
        verbose_name_plural = "entities"
        # READ, WRITE, EXECUTE and ADMIN are the privileges of grants, stored by django-guardian.
        permissions = [("READ", "Read"), ("WRITE", "Write"), ("EXECUTE", "Execute"), ("ADMIN", "Administer")]
        constraints = [
            models.UniqueConstraint(fields=["type", "object_id"], name="entity_object_id_once"),
            models.CheckConstraint(
                condition=Q(object_id__isnull=True) | Q(object_id__regex="^[0-9a-f]{24}$"), name="entity_object_id_hex"
            ),
            models.CheckConstraint(
                condition=Q(project__isnull=True) | Q(project__regex="^[0-9a-f]{24}$"), name="entity_project_hex"
            ),
        ]
        indexes = [
            models.Index(fields=["name", "urn"], name="entity_by_name"),
            models.Index(fields=["type", "name", "urn"], name="entity_by_type"),
            models.Index(fields=["parent"], name="entity_by_parent"),
            models.Index(fields=["project"], name="entity_by_project"),
            # Counts of present entities read the types only; few are removed, so counts exclude those.
            models.Index(fields=["type"], condition=Q(is_removed=False), name="entity_type_of_present"),
            models.Index(fields=["id"], condition=Q(is_removed=True), name="entity_removed"),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.urn}"


class Aspect(models.Model):
    """One document about an entity, as text, byte for byte as it arrived.

    Version 0 is the newest. A replaced one gets the next free number from 1 on; of these, a higher number is newer.
    """

    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="aspects")
    name = BytewiseCharField(max_length=128)
    version = models.PositiveIntegerField(default=0)
    document = models.TextField()
    system_metadata = models.TextField(null=True, blank=True)  # noqa: DJ001 - null is "was not sent"
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entity", "name", "version"], name="aspect_version_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.entity_id}, version {self.version}"


class Facet(models.Model):
    """One facet value of an entity, as authorization and lists read it: direct facts only.

    `type` is the URN of the ownership type for OWNER, '' for an owner without one and for every other field.
    """

    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="facets", db_index=False)
    field = BytewiseCharField(max_length=64)
    value = UrnField()
    type = UrnField(blank=True, default="")

    class Meta:
        constraints = [
            # Also serves lookups of the values of one field of one entity.
            models.UniqueConstraint(fields=["entity", "field", "value", "type"], name="facet_once"),
        ]
        # With the type, so that owners of some types are read without going to the rows.
        indexes = [models.Index(fields=["field", "value", "entity", "type"], name="facet_by_value")]

    def __str__(self) -> str:
        return f"{self.field} {self.value}"


class Ancestry(models.Model):
    """A domain, container, term or term group with one of its ancestors, direct or indirect; never itself."""

    node = UrnField()
    ancestor = UrnField()

    class Meta:
        verbose_name_plural = "ancestries"
        constraints = [
            models.UniqueConstraint(fields=["node", "ancestor"], name="ancestry_once"),
            models.CheckConstraint(condition=~Q(node=F("ancestor")), name="ancestry_is_proper"),
        ]
        indexes = [models.Index(fields=["ancestor", "node"], name="ancestry_downwards")]

    def __str__(self) -> str:
        return f"{self.node} below {self.ancestor}"
