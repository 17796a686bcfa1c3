"""Approval rules in the API (contract-requests.md section 4)."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.managed_fields import KeptMark, ManagedOut
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import needs
from policies.models import ApprovalRule
from policies.requests.queries import approval_rules
from policies.requests.rules import approval_rules as service
from policies.requests.rules.terms import TERM_FIELDS

require_manage_policies = needs("MANAGE_POLICIES")

TAG = "approval rules"

_COLUMNS = ("name", "order", "state")


class ApprovalRuleOut(serializers.Serializer[Any]):
    """An approval rule; what it says stands beside its name as it was written."""

    urn = serializers.CharField()
    name = serializers.CharField()
    order = serializers.IntegerField(min_value=0)
    state = serializers.ChoiceField(ApprovalRule.State.choices)
    version = serializers.IntegerField(min_value=1)
    managed = ManagedOut(allow_null=True)

    def get_fields(self) -> dict[str, Any]:
        """Return the fields with those of the terms, whose shapes the reader of terms checks."""
        return {**super().get_fields(), **{name: strict_fields.AnyJson(required=False) for name in TERM_FIELDS}}

    def to_representation(self, instance: ApprovalRule) -> dict[str, Any]:
        """Return the columns and the terms of a rule."""
        columns = {
            "urn": instance.urn,
            "name": instance.name,
            "order": instance.order,
            "state": instance.state,
            "version": instance.version,
            "managed": instance.managed,
        }
        return {**columns, **instance.terms}


class ApprovalRuleIn(strict_fields.StrictSerializer):
    """An approval rule to be stored. `managed` and `version` of an answer are not read."""

    urn = strict_fields.StrictUrn(required=False)
    name = strict_fields.StrictString(max_length=1000)
    order = strict_fields.StrictInteger(required=False, min_value=0)
    state = serializers.ChoiceField(ApprovalRule.State.choices, required=False)
    version = strict_fields.StrictInteger(required=False, min_value=1)
    managed = KeptMark()

    def get_fields(self) -> dict[str, Any]:
        """Return the fields with those of the terms."""
        return {**super().get_fields(), **{name: strict_fields.AnyJson(required=False) for name in TERM_FIELDS}}


class ApprovalRuleFilters(PageParameters):
    """Filters of the list of approval rules."""

    q = strict_fields.SearchText("Part of the name or URN.")
    state = serializers.ChoiceField(ApprovalRule.State.choices, required=False)


@require_manage_policies
class ApprovalRuleListView(ApiView):
    """The list of approval rules."""

    @list_operation(
        "approval_rules_list",
        "List approval rules",
        ApprovalRuleOut,
        "ApprovalRule",
        query=ApprovalRuleFilters,
        tag=TAG,
    )
    def get(self, **filters: str) -> QuerySet[ApprovalRule]:
        """Return a page of rules, in the order in which requests are compared with them."""
        return approval_rules.list_rules(**filters)

    @api_operation(
        "approval_rules_create",
        "Store a new approval rule",
        body=ApprovalRuleIn,
        answer=ApprovalRuleOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> Response:
        """Store a new rule under the URN sent, or under one made here."""
        values = {name: payload[name] for name in _COLUMNS if name in payload}
        rule = service.create(
            urn=payload.get("urn"), terms=_select_terms(payload), by=self.actor, channel=CHANNEL, **values
        )
        return _respond(rule, status=201)


@require_manage_policies
class ApprovalRuleDetailView(ApiView):
    """One approval rule."""

    @api_operation("approval_rules_get", "Get an approval rule", answer=ApprovalRuleOut, tag=TAG)
    def get(self, urn: str) -> Response:
        """Return the rule; its version stands in ETag, too."""
        return _respond(approval_rules.get_rule(urn=urn))

    @api_operation(
        "approval_rules_replace",
        "Replace an approval rule",
        body=ApprovalRuleIn,
        answer=ApprovalRuleOut,
        is_versioned=True,
        tag=TAG,
    )
    def put(self, payload: dict[str, Any], urn: str) -> Response:
        """Store another rule under this URN. Requests that are open keep their steps."""
        values = {name: payload[name] for name in _COLUMNS if name in payload}
        values.setdefault("state", ApprovalRule.State.ACTIVE.value)
        return self._update(urn, {**values, "terms": _select_terms(payload)})

    @api_operation(
        "approval_rules_change",
        "Change an approval rule",
        body=ApprovalRuleIn,
        answer=ApprovalRuleOut,
        is_partial=True,
        is_versioned=True,
        tag=TAG,
    )
    def patch(self, payload: dict[str, Any], urn: str) -> Response:
        """Set the fields that are sent."""
        values = {name: payload[name] for name in _COLUMNS if name in payload}
        if terms := _select_terms(payload):
            values["terms"] = {**approval_rules.get_rule(urn=urn).terms, **terms}
        return self._update(urn, values)

    @api_operation("approval_rules_delete", "Delete an approval rule", is_versioned=True, tag=TAG)
    def delete(self, urn: str) -> Response:
        """Delete a rule. Requests that are open keep their steps."""
        service.delete(urn=urn, by=self.actor, channel=CHANNEL, if_version=self.parse_if_match())
        return Response(status=204)

    def _update(self, urn: str, values: dict[str, Any]) -> Response:
        return _respond(
            service.update(urn=urn, by=self.actor, channel=CHANNEL, if_version=self.parse_if_match(), **values)
        )


def _select_terms(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: payload[name] for name in TERM_FIELDS if name in payload}


def _respond(rule: ApprovalRule, status: int = 200) -> Response:
    return Response(ApprovalRuleOut(rule).data, status=status, headers={"ETag": f'"{rule.version}"'})
