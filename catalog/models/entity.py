"""Entities, the documents they were described with, and what follows from those.

`Aspect` is what the catalog was told. `Facet`, `Ancestry` and the columns name, parent and is_removed of `Entity` are a
projection of it, written in the same transaction, that can be thrown away and made again (`rebuild_facets`).
"""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from catalog.aspects.base import MAX_NAME_LENGTH
from policies.models.fields import BytewiseCharField, UrnField

#: Types whose hierarchies are closed in `Ancestry`.
NODE_TYPES = ("container", "domain", "glossaryNode", "glossaryTerm")


class Entity(models.Model):
    """A thing in the catalog.

    `object_id` is 24 lower-case hexadecimal digits, unique per type, null for what has none; `project` is the object id
    of the project it is in; `parent` the URN of what it lies in, whether or not that is stored.
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
        # READ, WRITE, EXECUTE and ADMIN are the privileges that grants give, kept by django-guardian.
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
            # Counts of what is there look at the types alone; few are removed, so they are what counts leave out.
            models.Index(fields=["type"], condition=Q(is_removed=False), name="entity_type_of_present"),
            models.Index(fields=["id"], condition=Q(is_removed=True), name="entity_removed"),
        ]

    def __str__(self) -> str:
        return f"{self.name or self.urn}"


class Aspect(models.Model):
    """One document about an entity, as text, byte for byte as it arrived.

    Version 0 is the newest. What it replaced moved to the next free number from 1 on, so higher is younger among these.
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
    """One value of one fact about an entity, as authorization and lists read it: direct facts only.

    `type` is the URN of the ownership type for OWNER, '' for an owner without one and for every other field.
    """

    entity = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="facets", db_index=False)
    field = BytewiseCharField(max_length=64)
    value = UrnField()
    type = UrnField(blank=True, default="")

    class Meta:
        constraints = [
            # Serves "the values of this field of this entity" as well.
            models.UniqueConstraint(fields=["entity", "field", "value", "type"], name="facet_once"),
        ]
        indexes = [models.Index(fields=["field", "value", "entity"], name="facet_by_value")]

    def __str__(self) -> str:
        return f"{self.field} {self.value}"


class Ancestry(models.Model):
    """A domain, container, term or term group lies below another, directly or not; never below itself."""

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
