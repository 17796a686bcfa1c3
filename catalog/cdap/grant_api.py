"""Grants over the API: list, grant and revoke CDAP privileges (api.md section 2)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access.grant_source import Grant
from catalog.cdap import grant_services
from catalog.cdap.grant_services import GrantRequest
from policies.engine.errors import Problem
from policies.engine.families import cdap, cdap_entity_ids
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, build_page_serializer
from policies.http.guard import signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX

TAG = "grants"

_PRINCIPAL_PREFIXES = (USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX)


class EntityField(strict_fields.StrictUrn):
    """An entity, or a pattern: a URN with `*` at the end of its name, also spelled short (`dataset:ns1.*`)."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text; services expand a short pattern."""
        if isinstance(data, str) and cdap_entity_ids.parse_pattern(data) is not None:
            return data
        return super().to_internal_value(data)


class RevocationIn(strict_fields.StrictSerializer):
    """The privileges to revoke; all of the principal's when `privileges` is left out."""

    principal = strict_fields.StrictUrn(prefixes=_PRINCIPAL_PREFIXES, help_text="A user, a group or a role.")
    entity = EntityField()
    privileges = strict_fields.StrictList(
        child=serializers.ChoiceField([*cdap.PRIVILEGES, cdap.ALL]),
        required=False,
        allow_empty=False,
        max_length=100,
        help_text="ALL stands for the four.",
    )
    confirm = strict_fields.StrictBoolean(
        required=False, default=False, help_text="Let the last ADMIN fall to the administrators of the instance."
    )


class GrantIn(strict_fields.StrictSerializer):
    """The privileges to grant, in addition to existing ones."""

    principal = strict_fields.StrictUrn(prefixes=_PRINCIPAL_PREFIXES, help_text="A user, a group or a role.")
    entity = EntityField()
    privileges = strict_fields.StrictList(
        child=serializers.ChoiceField([*cdap.PRIVILEGES, cdap.ALL]),
        allow_empty=False,
        max_length=100,
        help_text="ALL stands for the four.",
    )


class GrantOut(serializers.Serializer[Any]):
    """The privileges of a principal on an entity."""

    principal = serializers.CharField()
    entity = serializers.CharField()
    privileges = serializers.ListField(child=serializers.ChoiceField(list(cdap.PRIVILEGES)))


class GrantListFilters(PageParameters):
    """Filters of the list of grants."""

    principal = strict_fields.StrictUrn(required=False, prefixes=_PRINCIPAL_PREFIXES)
    entity = EntityField(required=False)


def _build_one_or_many(name: str, serializer_class: type[serializers.Serializer[Any]]) -> PolymorphicProxySerializer:
    return PolymorphicProxySerializer(
        component_name=name,
        serializers=[serializer_class, serializer_class(many=True)],
        resource_type_field_name=None,
        many=False,
    )


GrantsIn, GrantsOut = _build_one_or_many("GrantsIn", GrantIn), _build_one_or_many("GrantsOut", GrantOut)
RevocationsIn = _build_one_or_many("TakenGrantsIn", RevocationIn)


@signed_in
class GrantListView(ApiView):
    """Grants of principals on entities and patterns."""

    @openapi_operation(
        "grants_list", "List grants", query=GrantListFilters, answer=build_page_serializer(GrantOut, "Grant"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of grants on entities that the caller holds ADMIN on, by entity and principal."""
        query = self.parse_query(GrantListFilters)
        grant_list = grant_services.list_grants(
            entity=query.get("entity", ""), principal=query.get("principal", ""), by=self.actor
        )
        return self.paginate(grant_list, serialize_grants, query)

    @openapi_operation("grants_give", "Grant privileges", body=GrantsIn, answer=GrantsOut, status=201, tag=TAG)
    def post(self, request: Request) -> Response:
        """Grant privileges: one grant, or a list of up to 1,000, all or nothing."""
        bodies = self._write_each(request.data, GrantIn, grant_services.grant)
        return Response(bodies if isinstance(request.data, list) else bodies[0], status=201)

    @openapi_operation("grants_take", "Revoke privileges", body=RevocationsIn, status=204, statuses=(409,), tag=TAG)
    def delete(self, request: Request) -> Response:
        """Revoke the privileges named, or all: of one grant, or of a list, all or nothing."""
        self._write_each(request.data, RevocationIn, grant_services.revoke)
        return Response(status=204)

    def _write_each(
        self,
        payload: Any,
        serializer_class: type[serializers.Serializer[Any]],
        write: Callable[..., list[Grant] | None],
    ) -> list[dict[str, Any]]:
        """Validate the body and pass it to `write`; pointers of problems of a single grant have no list index."""
        if isinstance(payload, list):
            if len(payload) > grant_services.MAX_GRANTS:
                detail = f"At most {grant_services.MAX_GRANTS} grants may be sent at once."
                raise Invalid.from_problem(code="list.too_long", pointer="", detail=detail)
            items = strict_fields.validate_each(
                strict_fields.get_shared_serializer(serializer_class, is_partial=False), payload
            )
            return serialize_grants(
                write(requests=[_build_request(item) for item in items], by=self.actor, channel=CHANNEL) or ()
            )
        grant_request = _build_request(strict_fields.validate(serializer_class, payload))
        try:
            return serialize_grants(write(requests=[grant_request], by=self.actor, channel=CHANNEL) or ())
        except Invalid as error:
            problems = [Problem(item.code, item.pointer.removeprefix("/0"), item.detail) for item in error.problems]
            raise Invalid(problems) from None


def _build_request(item: Mapping[str, Any]) -> GrantRequest:
    privileges = item.get("privileges")
    return GrantRequest(
        principal=item["principal"],
        entity=item["entity"],
        privileges=None if privileges is None else tuple(privileges),
        is_confirmed=item.get("confirm", False),
    )


def serialize_grants(page_grants: Sequence[Grant]) -> list[dict[str, Any]]:
    """Return the JSON bodies of grants."""
    return [
        {"principal": grant.principal, "entity": grant.entity, "privileges": list(grant.privileges)}
        for grant in page_grants
    ]
