"""Entities over the API: lists without entities that the caller may not view, and writes that keep documents whole."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import entity_lists, people_records, reachable_resources, view_permissions
from catalog.entities import services as service
from catalog.models import Entity
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
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


EntitiesIn = PolymorphicProxySerializer(
    component_name="EntitiesIn", serializers=[EntityIn, EntityIn(many=True)], resource_type_field_name=None, many=False
)
EntitiesOut = PolymorphicProxySerializer(
    component_name="EntitiesOut",
    serializers=[EntityOut, EntityOut(many=True)],
    resource_type_field_name=None,
    many=False,
)


@signed_in
class EntityListView(ApiView):
    """The list of entities."""

    @openapi_operation(
        "entities_list",
        "List entities",
        query=EntityListFilters,
        answer=build_page_serializer(EntityOut, "Entity"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of the entities that the caller may view."""
        query = self.parse_query(EntityListFilters)
        facet_urns = {name: query[name] for name in ("domain", "tag", "platform") if name in query}
        rows = entity_lists.list_entities(
            text=query.get("q", ""), types=[query["type"]] if "type" in query else [], **facet_urns
        )
        if view_permissions.find_hidden(urns=list(facet_urns.values()), by=self.actor):
            rows = rows.none()
        return self.paginate(
            view_permissions.filter_viewable(rows, by=self.actor),
            lambda page_entities: serialize_with_aspects(page_entities, self.actor),
            query,
        )

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
        try:
            entities = service.create(bodies=payload if is_list else [payload], by=self.actor, channel=CHANNEL)
        except Invalid as error:
            raise error if is_list else Invalid([_strip_list_index(problem) for problem in error.problems]) from None
        bodies = serialize_with_aspects(entities, self.actor)
        return Response(bodies if is_list else bodies[0], status=201)


@signed_in
class EntityDetailView(ApiView):
    """One entity."""

    @openapi_operation("entities_get", "Get an entity", answer=EntityOut, tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return the entity with its documents; one that the caller may not view is not found."""
        entity = entity_lists.get(urn=urn)
        if not view_permissions.may_view(entity, by=self.actor):
            raise NotFound(f"There is no entity {urn}.")
        return Response(serialize_with_aspects([entity], self.actor)[0])

    @openapi_operation("entities_change", "Change an entity", body=EntityChange, answer=EntityOut, tag=TAG)
    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent; `project` moves the entity."""
        entity = service.update(urn=urn, body=request.data, by=self.actor, channel=CHANNEL)
        return Response(serialize_with_aspects([entity], self.actor)[0])

    @openapi_operation("entities_delete", "Delete an entity", status=204, statuses=(409,), tag=TAG)
    def delete(self, _request: Request, urn: str) -> Response:
        """Delete the entity and every grant on it; children stay and lose their parent. The instance stays (409)."""
        service.delete(urn=urn, by=self.actor, channel=CHANNEL)
        return Response(status=204)


def serialize_entities(entities: Sequence[Entity | reachable_resources.ReachableRow]) -> list[dict[str, Any]]:
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


def _strip_list_index(problem: Problem) -> Problem:
    """Return the problem of the only element of a list with a pointer into the single body."""
    return Problem(problem.code, problem.pointer.removeprefix("/0"), problem.detail)
