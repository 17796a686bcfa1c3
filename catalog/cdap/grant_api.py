"""Grants over the API: list, grant and revoke CDAP privileges (api.md section 2)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.access.timed_grants import TimedGrantList
from catalog.cdap import grant_requests, grant_services, visible_grants
from catalog.cdap.grant_requests import GrantRequest
from policies.engine.families import cdap
from policies.engine.families.validity import Validity
from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.grant_fields import GrantedEntityField, PrivilegeList
from policies.http.api.one_or_many import build_one_or_many, strip_list_index
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import list_operation
from policies.http.api.timed_holders import InstantField, TimesIn, TimesOut
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX

TAG = "grants"

Result = TypeVar("Result")

_TIME_FIELDS = frozenset({"valid_from", "valid_until"})
_PRINCIPAL_PREFIXES = (USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX)


class RevocationIn(strict_fields.StrictSerializer):
    """The privileges to revoke; all of the principal's when `privileges` is left out."""

    principal = strict_fields.StrictUrn(prefixes=_PRINCIPAL_PREFIXES, help_text="A user, a group or a role.")
    entity = GrantedEntityField()
    privileges = PrivilegeList(required=False)
    confirm = strict_fields.StrictBoolean(
        required=False, default=False, help_text="Let the last ADMIN fall to the administrators of the instance."
    )


class GrantIn(TimesIn):
    """The privileges to grant, in addition to existing ones; without times existing ones keep theirs."""

    principal = strict_fields.StrictUrn(prefixes=_PRINCIPAL_PREFIXES, help_text="A user, a group or a role.")
    entity = GrantedEntityField()
    privileges = PrivilegeList()


class GrantOut(serializers.Serializer[Any]):
    """The privileges of a principal on an entity."""

    principal = serializers.CharField()
    entity = serializers.CharField()
    privileges = serializers.ListField(child=serializers.ChoiceField(list(cdap.PRIVILEGES)))


class GrantGivenOut(GrantOut):
    """The privileges as they were granted; times only where they were sent."""

    valid_from = InstantField(help_text="It begins at this time.")
    valid_until = InstantField(help_text="It ends at this time.")


class TimedGrantOut(TimesOut, GrantOut):
    """The privileges of a principal on an entity. A PENDING grant has not begun and does not count yet."""


class GrantListFilters(PageParameters):
    """Filters of the list of grants."""

    principal = strict_fields.StrictUrn(required=False, prefixes=_PRINCIPAL_PREFIXES)
    entity = GrantedEntityField(required=False)


GrantsIn, GrantsOut = build_one_or_many("GrantsIn", GrantIn), build_one_or_many("GrantsOut", GrantGivenOut)
RevocationsIn = build_one_or_many("TakenGrantsIn", RevocationIn)


@signed_in
class GrantListView(ApiView):
    """Grants of principals on entities and patterns."""

    @list_operation("grants_list", "List grants", TimedGrantOut, "Grant", query=GrantListFilters, tag=TAG)
    def get(self, entity: str = "", principal: str = "") -> TimedGrantList:
        """Return a page of grants on entities that the caller holds ADMIN on, by entity and principal.

        Privileges with different times are different rows.
        """
        return visible_grants.list_timed_grants(entity=entity, principal=principal, by=self.actor)

    @openapi_operation("grants_give", "Grant privileges", body=GrantsIn, answer=GrantsOut, status=201, tag=TAG)
    def post(self, request: Request) -> Response:
        """Grant privileges: one grant, or a list of up to 1,000, all or nothing."""
        new_grants = self._write_each(request.data, GrantIn, grant_services.grant)
        items = request.data if isinstance(request.data, list) else [request.data]
        bodies = [
            dict(GrantOut(new_grant).data) | _describe_sent_times(item)
            for new_grant, item in zip(new_grants, items, strict=True)
        ]
        return Response(bodies if isinstance(request.data, list) else bodies[0], status=201)

    @openapi_operation("grants_take", "Revoke privileges", body=RevocationsIn, status=204, statuses=(409,), tag=TAG)
    def delete(self, request: Request) -> Response:
        """Revoke the privileges named, or all: of one grant, or of a list, all or nothing."""
        self._write_each(request.data, RevocationIn, grant_services.revoke)
        return Response(status=204)

    def _write_each(
        self, payload: Any, serializer_class: type[serializers.Serializer[Any]], write: Callable[..., Result]
    ) -> Result:
        """Validate the body and pass it to `write`."""
        is_list = isinstance(payload, list)
        if is_list and len(payload) > grant_requests.MAX_GRANTS:
            detail = f"At most {grant_requests.MAX_GRANTS} grants may be sent at once."
            raise Invalid.from_problem(code="list.too_long", pointer="", detail=detail)
        serializer = strict_fields.get_shared_serializer(serializer_class, is_partial=False)
        items = (
            strict_fields.validate_each(serializer, payload)
            if is_list
            else [strict_fields.validate(serializer_class, payload)]
        )
        with strip_list_index(is_list=is_list):
            return write(requests=[_build_request(item) for item in items], by=self.actor, channel=CHANNEL)


def _build_request(item: Mapping[str, Any]) -> GrantRequest:
    privileges = item.get("privileges")
    return GrantRequest(
        principal=item["principal"],
        entity=item["entity"],
        privileges=None if privileges is None else tuple(privileges),
        is_confirmed=item.get("confirm", False),
        validity=Validity(item.get("valid_from"), item.get("valid_until")) if _TIME_FIELDS & item.keys() else None,
        reason=item.get("reason", ""),
    )


def _describe_sent_times(item: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the times of a valid item as they were understood; none where none was sent."""
    if not _TIME_FIELDS & item.keys():
        return {}
    field = InstantField()
    instants = {name: field.run_validation(item.get(name)) for name in sorted(_TIME_FIELDS)}
    return {name: None if value is None else field.to_representation(value) for name, value in instants.items()}
