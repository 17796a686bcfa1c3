"""Entities over the API: lists that hold nothing the caller may not view, and writes that keep documents whole."""

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
from policies.http.api.openapi_docs import described
from policies.http.api.views import DOOR, Door, Paged, page_of
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


class EntityFilters(Paged):
    """Which entities to list."""

    q = strict_fields.Text(required=False, allow_blank=True, max_length=1024, help_text="Words of the name, or a URN.")
    type = strict_fields.Text(required=False, max_length=64)
    domain = strict_fields.Urn(required=False, help_text="In it, or in a domain below it.")
    tag = strict_fields.Urn(required=False)
    platform = strict_fields.Urn(required=False)


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
class Entities(Door):
    """The list of entities."""

    @described("entities_list", "List entities", query=EntityFilters, answer=page_of(EntityOut, "Entity"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of entities; what the caller may not view is not in it."""
        asked = self.asked(EntityFilters)
        named = {name: asked[name] for name in ("domain", "tag", "platform") if name in asked}
        rows = entity_lists.entities(text=asked.get("q", ""), types=[asked["type"]] if "type" in asked else [], **named)
        if view_permissions.hidden(urns=list(named.values()), by=self.actor):
            rows = rows.none()
        return self.page(view_permissions.viewable(rows, by=self.actor), lambda found: whole(found, self.actor), asked)

    @described(
        "entities_register",
        "Register entities",
        body=EntitiesIn,
        answer=EntitiesOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Register one entity or a list of up to 1,000, all or none; what is known is updated with the fields sent."""
        sent: Any = request.data
        is_list = isinstance(sent, list)
        try:
            made = service.create(bodies=sent if is_list else [sent], by=self.actor, door=DOOR)
        except Invalid as error:
            raise error if is_list else Invalid([_unlisted(problem) for problem in error.problems]) from None
        shown = whole(made, self.actor)
        return Response(shown if is_list else shown[0], status=201)


@signed_in
class OneEntity(Door):
    """One entity."""

    @described("entities_get", "Get an entity", answer=EntityOut, tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return the entity with its documents; one that the caller may not view is not there."""
        entity = entity_lists.get(urn=urn)
        if not view_permissions.may_view(entity, by=self.actor):
            raise NotFound(f"There is no entity {urn}.")
        return Response(whole([entity], self.actor)[0])

    @described("entities_change", "Change an entity", body=EntityChange, answer=EntityOut, tag=TAG)
    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent; `project` moves the entity."""
        changed = service.update(urn=urn, body=request.data, by=self.actor, door=DOOR)
        return Response(whole([changed], self.actor)[0])

    @described("entities_delete", "Delete an entity", status=204, statuses=(409,), tag=TAG)
    def delete(self, _request: Request, urn: str) -> Response:
        """Delete the entity and every grant on it; children stay and lose their parent. The instance stays (409)."""
        service.delete(urn=urn, by=self.actor, door=DOOR)
        return Response(status=204)


def rows_of(entities: Sequence[Entity | reachable_resources.ReachedRow]) -> list[dict[str, Any]]:
    """Return entities as lists show them."""
    columns = ("urn", "type", "name", "object_id", "project", "parent")
    return [{column: getattr(entity, column) for column in columns} for entity in entities]


def whole(entities: Sequence[Entity], by: Actor) -> list[dict[str, Any]]:
    """Return entities with the documents that the caller may see, in a number of queries that does not grow."""
    found = people_records.documents_for(urns=[entity.urn for entity in entities], by=by)
    return [
        {**row, "aspects": {name: aspect.value for name, aspect in found.get(row["urn"], {}).items()}}
        for row in rows_of(entities)
    ]


def _unlisted(problem: Problem) -> Problem:
    """Return the problem of the only element of a list as that of what was sent."""
    return Problem(problem.code, problem.pointer.removeprefix("/0"), problem.detail)
