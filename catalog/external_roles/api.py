"""External roles over the API, and those through which an entity can be reached (api.md, section 3)."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access import entity_lists, view_permissions
from catalog.aspects.base import ACCESS_ROLE
from catalog.external_roles import queries as reading
from catalog.external_roles import services as service
from catalog.models import Entity
from policies.errors import Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import DOOR, Door, Paged, page_of, unchanged
from policies.http.guard import signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX

TAG = "external roles"
ROLE_PREFIX = "urn:li:role:"

#: How many people or datasets one call may name.
_MOST = 10_000


class ExternalRoleOut(serializers.Serializer[Any]):
    """An external role as the caller may see it."""

    urn = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    type = serializers.CharField(allow_blank=True, help_text="READ, WRITE, ADMIN, or what the source system says.")
    request_url = serializers.CharField(allow_null=True)
    users = serializers.ListField(child=serializers.CharField())
    groups = serializers.ListField(child=serializers.CharField())
    datasets = serializers.ListField(child=serializers.CharField(), help_text="Those that the caller may view.")
    assigned_to_me = serializers.BooleanField(source="is_mine", help_text="Directly or through a group.")


class ExternalRoleIn(strict_fields.Strict):
    """An external role to be made or replaced."""

    urn = strict_fields.Urn(required=False, prefixes=(ROLE_PREFIX,))
    name = strict_fields.Text(max_length=1000)
    description = strict_fields.Text(required=False, allow_blank=True)
    type = strict_fields.Text(max_length=64)
    request_url = strict_fields.Text(required=False, allow_null=True, max_length=2000, help_text="http or https.")
    users = strict_fields.List(child=strict_fields.Urn(prefixes=(USER_PREFIX,)), required=False, max_length=_MOST)
    groups = strict_fields.List(child=strict_fields.Urn(prefixes=(GROUP_PREFIX,)), required=False, max_length=_MOST)
    datasets = strict_fields.List(child=strict_fields.Urn(), required=False, max_length=_MOST)


class ExternalRoleChange(ExternalRoleIn):
    """The fields of an external role that are to change."""

    name = strict_fields.Text(required=False, max_length=1000)
    type = strict_fields.Text(required=False, max_length=64)


class ExternalRoleFilters(Paged):
    """Which external roles to list."""

    q = strict_fields.Text(required=False, allow_blank=True, max_length=1024, help_text="Words of the name, or a URN.")
    type = strict_fields.Text(required=False, max_length=64)
    holder = strict_fields.Urn(
        required=False, prefixes=(USER_PREFIX, GROUP_PREFIX), help_text="Named by the role itself."
    )


class _Roles(Door):
    def shown(self, urns: Sequence[str]) -> list[Any]:
        """Return external roles as they are sent."""
        found = reading.described(urns=urns, by=self.actor, with_datasets=True)
        return list(ExternalRoleOut(found, many=True).data)

    def rows(self, entities: Sequence[Entity]) -> list[Any]:
        """Return the external roles of a page."""
        return self.shown([entity.urn for entity in entities])


@signed_in
class ExternalRoles(_Roles):
    """The list of external roles."""

    @described(
        "external_roles_list",
        "List external roles",
        query=ExternalRoleFilters,
        answer=page_of(ExternalRoleOut, "ExternalRole"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of external roles, by name."""
        asked = self.asked(ExternalRoleFilters)
        holders = [asked["holder"]] if "holder" in asked else []
        found = reading.external_roles(text=asked.get("q", ""), type=asked.get("type", ""), holders=holders)
        return self.page(found, self.rows, asked)

    @described(
        "external_roles_create",
        "Describe an external role",
        body=ExternalRoleIn,
        answer=ExternalRoleOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Describe an external role; needs EDIT_ENTITY on it, and on each dataset what editing that needs."""
        sent = strict_fields.checked(ExternalRoleIn, request.data)
        made = service.create(urn=sent.pop("urn", None), draft=_draft(sent), by=self.actor, door=DOOR)
        return Response(self.shown([made.urn])[0], status=201)


@signed_in
class OneExternalRole(_Roles):
    """One external role."""

    @described("external_roles_get", "Get an external role", answer=ExternalRoleOut, tag=TAG)
    def get(self, _request: Request, urn: str) -> Response:
        """Return the external role."""
        return Response(self.shown([reading.external_role(urn=urn).urn])[0])

    @described(
        "external_roles_replace", "Replace an external role", body=ExternalRoleIn, answer=ExternalRoleOut, tag=TAG
    )
    def put(self, request: Request, urn: str) -> Response:
        """Say everything anew: lists that are left out become empty."""
        sent = strict_fields.checked(ExternalRoleIn, request.data)
        return self._write(urn, {"users": [], "groups": [], "datasets": [], **sent})

    @described(
        "external_roles_change", "Change an external role", body=ExternalRoleChange, answer=ExternalRoleOut, tag=TAG
    )
    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent."""
        sent = strict_fields.checked(ExternalRoleChange, request.data)
        reading.external_role(urn=urn)
        (known,) = reading.described(urns=[urn], by=self.actor)
        said = {name: getattr(known, name) for name in ("name", "description", "type", "request_url")}
        return self._write(urn, {**said, **sent})

    @described("external_roles_delete", "Delete an external role", status=204, tag=TAG)
    def delete(self, _request: Request, urn: str) -> Response:
        """Delete what is said of the external role, and the mention of it on datasets."""
        service.delete(urn=urn, by=self.actor, door=DOOR)
        return Response(status=204)

    def _write(self, urn: str, sent: dict[str, Any]) -> Response:
        if problems := unchanged(sent, {"urn": urn}):
            raise Invalid(problems)
        draft = _draft({name: value for name, value in sent.items() if name != "urn"})
        service.update(urn=urn, draft=draft, by=self.actor, door=DOOR)
        return Response(self.shown([urn])[0])


@signed_in
class Access(_Roles):
    """The external roles of one entity."""

    @described(
        "entities_access",
        "List the external roles through which an entity can be reached",
        query=Paged,
        answer=page_of(ExternalRoleOut, "Access"),
        tag=TAG,
    )
    def get(self, _request: Request, urn: str) -> Response:
        """Return a page of external roles, by URN; `assigned_to_me` is about the caller."""
        asked = self.asked()
        entity = entity_lists.get(urn=urn)
        if not view_permissions.may_view(entity, by=self.actor):
            raise NotFound(f"There is no entity {urn}.")
        return self.page(entity_lists.values_of(urns=[urn], field=ACCESS_ROLE).get(urn, []), self.shown, asked)


def _draft(sent: dict[str, Any]) -> service.Draft:
    lists: dict[str, Any] = {name: tuple(sent[name]) for name in ("users", "groups", "datasets") if name in sent}
    return service.Draft(**{**sent, **lists})
