"""Guardrails in the API (api-next.md section 3): rules above policies, and what breaks them."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from policies.errors import Invalid
from policies.guardrails.queries import guardrails
from policies.guardrails.services import guardrails as service
from policies.http.api import strict_fields
from policies.http.api.managed_fields import KeptMark, ManagedOut
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters, find_read_only_changes
from policies.http.guard import needs
from policies.models import Guardrail

require_manage_guardrails = needs("MANAGE_GUARDRAILS")

TAG = "guardrails"


class BreachOut(serializers.Serializer[Any]):
    """A breach of a guardrail: a policy and the people whom it lets use the privilege, or who or how many lack it.

    `example` is what `authorize` would say of entities made like it (of `no_policy`, where denies refuse it, what the
    policy says); `other` is that of the second part of `not_both`.
    """

    policy = serializers.CharField(allow_null=True)
    privilege = serializers.CharField()
    people = serializers.ListField(child=serializers.CharField(), help_text="The first of them.")
    people_count = serializers.IntegerField(min_value=0)
    missing = serializers.IntegerField(min_value=0, help_text="How many more would have to hold it (`at_least`).")
    reason = serializers.CharField(
        default="", help_text="Why it is not known whether this breaks it, where there is a reason but no proof."
    )
    breaks_at = serializers.CharField(
        allow_null=True, default=None, help_text="The later instant at which it breaks; null: now, or at any time."
    )
    example = strict_fields.AnyJson(allow_null=True)
    other = strict_fields.AnyJson(allow_null=True)


class GuardrailOut(serializers.Serializer[Any]):
    """A guardrail, and whether it holds; `breaches` are the first 100."""

    urn = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    mode = serializers.ChoiceField(Guardrail.Mode.choices)
    rule = strict_fields.AnyJson()
    version = serializers.IntegerField(min_value=1)
    status = serializers.ChoiceField(Guardrail.Status.choices)
    breaks_at = serializers.CharField(
        allow_null=True, read_only=True, help_text="The earliest time at which one that holds will be broken."
    )
    breaches = BreachOut(many=True)
    managed = ManagedOut(allow_null=True)


class GuardrailIn(strict_fields.StrictSerializer):
    """A guardrail to be stored. `status`, `breaks_at`, `breaches` and `managed` of an answer are not read."""

    urn = strict_fields.StrictUrn(required=False)
    name = strict_fields.StrictString(max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    mode = serializers.ChoiceField(Guardrail.Mode.choices, required=False)
    rule = strict_fields.AnyJson()
    version = strict_fields.StrictInteger(required=False, min_value=1)
    status = strict_fields.AnyJson(required=False)
    breaks_at = strict_fields.AnyJson(required=False, allow_null=True)
    breaches = strict_fields.AnyJson(required=False)
    managed = KeptMark()


class GuardrailChangeIn(strict_fields.StrictSerializer):
    """The fields of a guardrail that are to change."""

    name = strict_fields.StrictString(required=False, max_length=1000)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    mode = serializers.ChoiceField(Guardrail.Mode.choices, required=False)
    rule = strict_fields.AnyJson(required=False)


class GuardrailListFilters(PageParameters):
    """Filters of the list of guardrails."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Part of the name or description."
    )
    mode = serializers.ChoiceField(Guardrail.Mode.choices, required=False)
    status = serializers.ChoiceField(
        Guardrail.Status.choices, required=False, help_text="Of the last judgment; one that is off has none."
    )


@require_manage_guardrails
class GuardrailListView(ApiView):
    """The list of guardrails."""

    @list_operation(
        "guardrails_list", "List guardrails", GuardrailOut, "Guardrail", query=GuardrailListFilters, tag=TAG
    )
    def get(self, **filters: str) -> QuerySet[Guardrail]:
        """Return a page of guardrails, by URN, with what their last judgment found."""
        return guardrails.list_guardrails(**filters)

    @api_operation(
        "guardrails_create",
        "Store a new guardrail",
        body=GuardrailIn,
        answer=GuardrailOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> Response:
        """Store a new guardrail under the URN sent, or under one made here; what breaks it already is in the answer."""
        values = _select_values(payload)
        return _respond(service.create(urn=payload.get("urn"), by=self.actor, channel=CHANNEL, **values), status=201)


@require_manage_guardrails
class GuardrailDetailView(ApiView):
    """One guardrail."""

    @api_operation("guardrails_get", "Get a guardrail", answer=GuardrailOut, tag=TAG)
    def get(self, urn: str) -> Response:
        """Return the guardrail as it is judged now; its version stands in ETag, too."""
        return _respond(service.refresh_status(guardrails.get_guardrail(urn=urn)))

    @api_operation(
        "guardrails_replace", "Replace a guardrail", body=GuardrailIn, answer=GuardrailOut, is_versioned=True, tag=TAG
    )
    def put(self, payload: dict[str, Any], urn: str) -> Response:
        """Store another guardrail under this URN; what is left out becomes what it is in a new one."""
        stored_values: dict[str, Any] = {"urn": urn}
        if "version" in payload:
            stored_values["version"] = guardrails.get_guardrail(urn=urn).version
        if problems := find_read_only_changes(payload, stored_values):
            raise Invalid(problems)
        values = {"description": "", "mode": Guardrail.Mode.ENFORCE.value, **_select_values(payload)}
        return self._update(urn, values)

    @api_operation(
        "guardrails_change",
        "Change a guardrail",
        body=GuardrailChangeIn,
        answer=GuardrailOut,
        is_partial=True,
        is_versioned=True,
        tag=TAG,
    )
    def patch(self, payload: dict[str, Any], urn: str) -> Response:
        """Set the fields that are sent."""
        return self._update(urn, _select_values(payload))

    @api_operation("guardrails_delete", "Delete a guardrail", is_versioned=True, tag=TAG)
    def delete(self, urn: str) -> Response:
        """Delete a guardrail."""
        service.delete(urn=urn, by=self.actor, channel=CHANNEL, if_version=self.parse_if_match())
        return Response(status=204)

    def _update(self, urn: str, values: dict[str, Any]) -> Response:
        return _respond(
            service.update(urn=urn, by=self.actor, channel=CHANNEL, if_version=self.parse_if_match(), **values)
        )


def _select_values(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: payload[name] for name in ("name", "description", "mode", "rule") if name in payload}


def _respond(guardrail: Guardrail, status: int = 200) -> Response:
    return Response(GuardrailOut(guardrail).data, status=status, headers={"ETag": f'"{guardrail.version}"'})
