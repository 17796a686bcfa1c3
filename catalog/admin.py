"""Read-only admin pages of the catalog: stored documents and what is derived from them (see `policies.admin`)."""

from django.contrib import admin

from catalog.models import Ancestry, Aspect, Entity, EntityGroupGrant, EntityUserGrant, Facet
from policies.admin import ReadOnlyAdmin, site


@admin.register(Entity, site=site)
class EntityAdmin(ReadOnlyAdmin):
    """Entities."""

    list_display = ("urn", "type", "name", "parent", "is_removed", "updated_at")
    list_filter = ("is_removed",)
    search_fields = ("=urn", "=name")


@admin.register(Aspect, site=site)
class AspectAdmin(ReadOnlyAdmin):
    """Documents, byte for byte as they arrived."""

    list_display = ("entity", "name", "version", "created_at", "created_by")
    list_select_related = ("entity",)
    search_fields = ("=entity__urn",)


@admin.register(Facet, site=site)
class FacetAdmin(ReadOnlyAdmin):
    """Facets, which decisions read."""

    list_display = ("entity", "field", "value", "type")
    list_select_related = ("entity",)
    search_fields = ("=entity__urn", "=value")


@admin.register(Ancestry, site=site)
class AncestryAdmin(ReadOnlyAdmin):
    """Ancestors of nodes."""

    list_display = ("node", "ancestor")
    search_fields = ("=node", "=ancestor")


@admin.register(EntityUserGrant, site=site)
class EntityUserGrantAdmin(ReadOnlyAdmin):
    """Grants to users on single entities."""

    list_display = ("user", "permission", "content_object", "given_by", "given_at", "valid_until")
    list_select_related = ("user", "permission__content_type", "content_object")
    search_fields = ("=user__username", "=content_object__urn")


@admin.register(EntityGroupGrant, site=site)
class EntityGroupGrantAdmin(ReadOnlyAdmin):
    """Grants to groups and roles on single entities."""

    list_display = ("group", "permission", "content_object", "given_by", "given_at", "valid_until")
    list_select_related = ("group", "permission__content_type", "content_object")
    search_fields = ("=group__name", "=content_object__urn")
