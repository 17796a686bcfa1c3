"""Entities over the API: lists without entities that the caller may not view, and writes that keep documents whole."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import disclosure, entity_lists, people_records, view_permissions
from catalog.access.reachable_parts import ReachableRow
from catalog.entities import services as service
from catalog.models import Entity
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.one_or_many import build_one_or_many, strip_list_index
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import signed_in

TAG = "entities"


class EntityRow(serializers.Serializer[Any]):
    """An entity without its documents."""

    urn = serializers.CharField()
    type = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    object_id = serializers.CharField(allow_null=True)
    project = serializers.CharField(allow_null=True)
    parent = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # the base has one


class EntityOut(EntityRow):
    """An entity with its documents, by the names of their aspects."""

    aspects = serializers.DictField(child=serializers.JSONField())


class EntityChange(serializers.Serializer[Any]):
    """The fields of an entity that are to change."""

    name = serializers.CharField(required=False)
    project = serializers.CharField(required=False, allow_null=True, help_text="The object id of a project.")
    aspects = serializers.DictField(child=serializers.DictField(), required=False)


class EntityIn(EntityChange):
    """An entity to be registered."""

    type = serializers.CharField()
    urn = serializers.CharField(required=False, allow_null=True)
    object_id = serializers.CharField(required=False, allow_null=True, help_text="24 hexadecimal digits.")


class EntityListFilters(PageParameters):
    """Filters of the list of entities."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=1024, help_text="Words of the name, or a URN."
    )
    type = strict_fields.StrictString(required=False, max_length=64)
    domain = strict_fields.StrictUrn(required=False, help_text="In it, or in a domain below it.")
    tag = strict_fields.StrictUrn(required=False)
    platform = strict_fields.StrictUrn(required=False)


EntitiesIn, EntitiesOut = build_one_or_many("EntitiesIn", EntityIn), build_one_or_many("EntitiesOut", EntityOut)


@signed_in
class EntityListView(ApiView):
    """The list of entities."""

    @list_operation("entities_list", "List entities", EntityOut, "Entity", query=EntityListFilters, tag=TAG)
    def get(self, q: str = "", type: str = "", domain: str = "", tag: str = "", platform: str = "") -> QuerySet[Entity]:
        """Return a page of the entities that the caller may view."""
        types = [type] if type else []
        rows = entity_lists.list_entities(text=q, types=types, domain=domain, tag=tag, platform=platform)
        if view_permissions.find_hidden(urns=[urn for urn in (domain, tag, platform) if urn], by=self.actor):
            rows = rows.none()
        return view_permissions.filter_viewable(rows, by=self.actor)

    def prepare_rows(self, rows: Sequence[Entity]) -> list[dict[str, Any]]:
        """Return the entities of a page with their documents."""
        return serialize_with_aspects(rows, self.actor)

    @openapi_operation(
        "entities_register",
        "Register entities",
        body=EntitiesIn,
        answer=EntitiesOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Register one entity or a list of up to 1,000, all or none; existing ones are updated with the fields sent."""
        payload: Any = request.data
        is_list = isinstance(payload, list)
        with strip_list_index(is_list=is_list):
            entities = service.create(bodies=payload if is_list else [payload], by=self.actor, channel=CHANNEL)
        bodies = serialize_with_aspects(entities, self.actor)
        return Response(bodies if is_list else bodies[0], status=201)


@signed_in
class EntityDetailView(ApiView):
    """One entity."""

    @api_operation("entities_get", "Get an entity", answer=EntityOut, tag=TAG)
    def get(self, urn: str) -> dict[str, Any]:
        """Return the entity with its documents; one that the caller may not view is not found."""
        entity = entity_lists.get(urn=urn)
        disclosure.require_visible(urn=urn, by=self.actor)
        return serialize_with_aspects([entity], self.actor)[0]

    @openapi_operation("entities_change", "Change an entity", body=EntityChange, answer=EntityOut, tag=TAG)
    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent; `project` moves the entity."""
        entity = service.update(urn=urn, body=request.data, by=self.actor, channel=CHANNEL)
        return Response(serialize_with_aspects([entity], self.actor)[0])

    @api_operation("entities_delete", "Delete an entity", statuses=(409,), tag=TAG)
    def delete(self, urn: str) -> None:
        """Delete the entity and every grant on it; children stay and lose their parent. The instance stays (409)."""
        service.delete(urn=urn, by=self.actor, channel=CHANNEL)


def serialize_entities(entities: Sequence[Entity | ReachableRow]) -> list[dict[str, Any]]:
    """Return the JSON rows of entities."""
    columns = ("urn", "type", "name", "object_id", "project", "parent")
    return [{column: getattr(entity, column) for column in columns} for entity in entities]


def serialize_with_aspects(entities: Sequence[Entity], by: Actor) -> list[dict[str, Any]]:
    """Return the JSON rows of entities with the documents that the caller may see, in a constant number of queries."""
    aspects_by_urn = people_records.load_visible_documents(urns=[entity.urn for entity in entities], by=by)
    return [
        {**row, "aspects": {name: aspect.value for name, aspect in aspects_by_urn.get(row["urn"], {}).items()}}
        for row in serialize_entities(entities)
    ]
