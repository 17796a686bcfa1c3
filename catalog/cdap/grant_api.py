"""Grants over the API: who holds which CDAP privileges on what, giving and taking them (api.md section 2)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access.grant_source import Grant
from catalog.cdap import grant_services
from catalog.cdap.grant_services import Sent
from policies.engine.errors import Problem
from policies.engine.families import cdap, cdap_entity_ids
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import DOOR, Door, Paged, page_of
from policies.http.guard import signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX

TAG = "grants"

_PREFIXES = (USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX)


class EntityField(strict_fields.Urn):
    """An entity, or a pattern: a URN with `*` at the end of its name, also spelled short (`dataset:ns1.*`)."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text; a short pattern is taken for what it stands for further in."""
        if isinstance(data, str) and cdap_entity_ids.pattern(data) is not None:
            return data
        return super().to_internal_value(data)


class TakenIn(strict_fields.Strict):
    """What is to be taken away; everything that is held when `privileges` is left out."""

    principal = strict_fields.Urn(prefixes=_PREFIXES, help_text="A user, a group or a role.")
    entity = EntityField()
    privileges = strict_fields.List(
        child=serializers.ChoiceField([*cdap.PRIVILEGES, cdap.ALL]),
        required=False,
        allow_empty=False,
        max_length=100,
        help_text="ALL stands for the four.",
    )
    confirm = strict_fields.Flag(
        required=False, default=False, help_text="Let the last ADMIN fall to the administrators of the instance."
    )


class GrantIn(strict_fields.Strict):
    """What is to be given, beside what is held already."""

    principal = strict_fields.Urn(prefixes=_PREFIXES, help_text="A user, a group or a role.")
    entity = EntityField()
    privileges = strict_fields.List(
        child=serializers.ChoiceField([*cdap.PRIVILEGES, cdap.ALL]),
        allow_empty=False,
        max_length=100,
        help_text="ALL stands for the four.",
    )


class GrantOut(serializers.Serializer[Any]):
    """What a principal holds on an entity."""

    principal = serializers.CharField()
    entity = serializers.CharField()
    privileges = serializers.ListField(child=serializers.ChoiceField(list(cdap.PRIVILEGES)))


class GrantFilters(Paged):
    """Which grants to list."""

    principal = strict_fields.Urn(required=False, prefixes=_PREFIXES)
    entity = EntityField(required=False)


def _one_or_many(name: str, shape: type[serializers.Serializer[Any]]) -> PolymorphicProxySerializer:
    return PolymorphicProxySerializer(
        component_name=name, serializers=[shape, shape(many=True)], resource_type_field_name=None, many=False
    )


GrantsIn, GrantsOut = _one_or_many("GrantsIn", GrantIn), _one_or_many("GrantsOut", GrantOut)
TakenGrantsIn = _one_or_many("TakenGrantsIn", TakenIn)


@signed_in
class Grants(Door):
    """Who holds what."""

    @described("grants_list", "List grants", query=GrantFilters, answer=page_of(GrantOut, "Grant"), tag=TAG)
    def get(self, _request: Request) -> Response:
        """Return a page of grants on entities that the caller holds ADMIN on, by entity and principal."""
        asked = self.asked(GrantFilters)
        rows = grant_services.listed(
            entity=asked.get("entity", ""), principal=asked.get("principal", ""), by=self.actor
        )
        return self.page(rows, shown, asked)

    @described("grants_give", "Grant privileges", body=GrantsIn, answer=GrantsOut, status=201, tag=TAG)
    def post(self, request: Request) -> Response:
        """Add to what principals hold: one grant, or a list of up to 1,000, all or nothing."""
        given = self._each(request.data, GrantIn, grant_services.give)
        return Response(given if isinstance(request.data, list) else given[0], status=201)

    @described("grants_take", "Revoke privileges", body=TakenGrantsIn, status=204, statuses=(409,), tag=TAG)
    def delete(self, request: Request) -> Response:
        """Take away the privileges named, or all: of one grant, or of a list, all or nothing."""
        self._each(request.data, TakenIn, grant_services.take)
        return Response(status=204)

    def _each(
        self, data: Any, shape: type[serializers.Serializer[Any]], write: Callable[..., list[Grant] | None]
    ) -> list[dict[str, Any]]:
        """Check what was sent and hand it on; problems of the only grant stand where it does."""
        if isinstance(data, list):
            if len(data) > grant_services.MOST:
                detail = f"At most {grant_services.MOST} grants may be sent at once."
                raise Invalid.one(code="list.too_long", pointer="", detail=detail)
            checked = strict_fields.check_each(strict_fields.checker(shape, is_partial=False), data)
            return shown(write(sent=[_sent(one) for one in checked], by=self.actor, door=DOOR) or ())
        sent = _sent(strict_fields.checked(shape, data))
        try:
            return shown(write(sent=[sent], by=self.actor, door=DOOR) or ())
        except Invalid as error:
            unlisted = [Problem(one.code, one.pointer.removeprefix("/0"), one.detail) for one in error.problems]
            raise Invalid(unlisted) from None


def _sent(checked: Mapping[str, Any]) -> Sent:
    privileges = checked.get("privileges")
    return Sent(
        principal=checked["principal"],
        entity=checked["entity"],
        privileges=None if privileges is None else tuple(privileges),
        is_confirmed=checked.get("confirm", False),
    )


def shown(rows: Sequence[Grant]) -> list[dict[str, Any]]:
    """Return grants as they are sent."""
    return [{"principal": one.principal, "entity": one.entity, "privileges": list(one.privileges)} for one in rows]
