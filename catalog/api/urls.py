"""Paths of the catalog's part of the API, under /api/v1/."""

from django.urls import URLPattern

from catalog.api import entities, external_roles, grants, operations, render, what
from catalog.queries.external_roles import REACHED_TYPES
from policies.api.urls import door

ROLE = r"(?P<urn>urn:li:role:.+)"
#: What can be reached through external roles; of anything else "/access" is the end of its URN.
REACHED = rf"(?P<urn>urn:li:(?:{'|'.join(REACHED_TYPES)}):.+)"

urlpatterns: list[URLPattern] = [
    *door("what", what.What, "api-what"),
    *door("render", render.Render, "api-render"),
    *door("operations", operations.Operations, "api-operations"),
    *door("grants", grants.Grants, "api-grants"),
    *door("entities/", entities.Entities, "api-entities"),
    *door(rf"entities/{REACHED}/access/", external_roles.Access, "api-entity-access"),
    *door(r"entities/(?P<urn>urn:li:.+)/", entities.OneEntity, "api-entity"),
    *door("external-roles/", external_roles.ExternalRoles, "api-external-roles"),
    *door(rf"external-roles/{ROLE}/", external_roles.OneExternalRole, "api-external-role"),
]
