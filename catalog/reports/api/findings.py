"""Findings of reports over the API: a list, one finding, and decisions about them (docs/reports.md)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.models import Finding
from catalog.reports.queries import findings as reading
from catalog.reports.services import findings as service
from catalog.reports.services import reports
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import CHANNEL, ApiView, PageParameters
from policies.http.guard import needs, signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import authorizer

TAG = "reports"
VIEW_GUARD = needs(reports.REQUIRED_PRIVILEGE)

#: Findings that one call may change at most.
_MAX_CHANGED_FINDINGS = 10_000


class _NullableText(serializers.CharField):
    def __init__(self, **arguments: Any) -> None:
        super().__init__(allow_null=True, **arguments)

    def to_representation(self, value: str) -> str | None:  # type: ignore[override]  # null where nothing is stored
        return value or None


class ReportFindingOut(serializers.Serializer[Any]):
    """A finding. Where the caller may not view an entity it names, the naming fields are null and `values` is empty."""

    id = serializers.IntegerField()
    kind = serializers.CharField(help_text="The kind of the report.")
    key = serializers.CharField(allow_null=True, help_text="The same in every run.")
    type = serializers.CharField()
    severity = serializers.ChoiceField(Finding.Severity.choices)
    state = serializers.ChoiceField(Finding.State.choices)
    assignee = _NullableText()
    note = serializers.CharField(allow_blank=True)
    decided_by = _NullableText(help_text="Null: nobody, or a run.")
    decided_at = serializers.DateTimeField(allow_null=True)
    sentence = serializers.CharField(allow_null=True)
    repair = serializers.CharField(allow_null=True, help_text="The statement that would end it in the source system.")
    values = serializers.DictField()
    is_concealed = serializers.BooleanField()
    first_seen = serializers.UUIDField(
        source="first_seen_id", allow_null=True, help_text="The run; null when it is no longer kept."
    )
    first_seen_at = serializers.DateTimeField()
    last_seen = serializers.UUIDField(source="last_seen_id", allow_null=True)
    last_seen_at = serializers.DateTimeField()
    accepted_until = serializers.DateField(
        allow_null=True, help_text="The last day (UTC) of an acceptance; the finding is open again after it."
    )
    subject = _NullableText(
        help_text="The URN that it is about first; findings of a type about the same one are alike."
    )


class FindingEventOut(serializers.Serializer[Any]):
    """One decision about a finding."""

    at = serializers.DateTimeField()
    by = _NullableText(help_text="Null: a run, or the end of an acceptance.")
    state = serializers.ChoiceField(Finding.State.choices)
    assignee = _NullableText()
    note = serializers.CharField(allow_blank=True)
    accepted_until = serializers.DateField(allow_null=True)
    report = serializers.UUIDField(
        source="report_id", allow_null=True, help_text="The run that did it, while it is kept."
    )


@extend_schema_serializer(component_name="OneReportFindingOut")
class ReportFindingDetailOut(ReportFindingOut):
    """A finding with its trail of decisions."""

    trail = FindingEventOut(many=True, help_text=f"The newest first; at most {reading.TRAIL_LENGTH}.")


class FindingListFilters(PageParameters):
    """Filters of the list of findings; without `state` findings in every state are listed."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=512, help_text="Every word is in the sentence."
    )
    kind = strict_fields.StrictString(required=False, max_length=64)
    type = strict_fields.StrictString(required=False, max_length=64)
    severity = serializers.ChoiceField(Finding.Severity.choices, required=False)
    state = serializers.ChoiceField(Finding.State.choices, required=False)
    assignee = strict_fields.StrictUrn(required=False, prefixes=(USER_PREFIX, GROUP_PREFIX))
    subject = strict_fields.StrictUrn(required=False)


class DecisionIn(strict_fields.StrictSerializer):
    """A decision about a finding. ACCEPTED requires a note and may have a last day, ASSIGNED requires an assignee."""

    state = serializers.ChoiceField(Finding.State.choices)
    note = strict_fields.StrictString(required=False, max_length=4000)
    assignee = strict_fields.StrictUrn(required=False, prefixes=(USER_PREFIX, GROUP_PREFIX))
    until = serializers.DateField(
        required=False, help_text="The last day (UTC) of an acceptance; without it the acceptance does not end."
    )

    def find_contradictions(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return errors of fields that the state requires and that are missing, and of fields that it does not use."""
        state = values.get("state")
        problems = {}
        if state == Finding.State.ASSIGNED and "assignee" not in values:
            problems["assignee"] = [ErrorDetail("Say to whom.", "required")]
        if state != Finding.State.ASSIGNED and "assignee" in values:
            problems["assignee"] = [ErrorDetail("Only what is ASSIGNED has an assignee.", "field.unused")]
        if state != Finding.State.ACCEPTED and "until" in values:
            problems["until"] = [ErrorDetail("Only what is ACCEPTED ends on a day.", "field.unused")]
        if state == Finding.State.OPEN and "note" in values:
            problems["note"] = [ErrorDetail("A finding that is opened again keeps its note.", "field.unused")]
        return problems


class DecisionsIn(DecisionIn):
    """One decision about several findings."""

    ids = strict_fields.StrictList(
        child=strict_fields.StrictInteger(min_value=1), min_length=1, max_length=_MAX_CHANGED_FINDINGS
    )


@extend_schema_serializer(component_name="ChangedOut")
class FindingChangeCountOut(serializers.Serializer[Any]):
    """The number of findings that were changed; ids that do not exist are ignored."""

    changed = serializers.IntegerField(min_value=0)


@VIEW_GUARD
class FindingListView(ApiView):
    """The findings of all reports."""

    @list_operation(
        "reports_findings", "List findings", ReportFindingOut, "ReportFinding", query=FindingListFilters, tag=TAG
    )
    def get(self, q: str = "", state: str = "", **filters: str) -> QuerySet[Finding]:
        """Return a page of findings, the highest severity first."""
        return reading.list_findings(text=q, states=[state] if state else [], **filters)

    def prepare_rows(self, rows: Sequence[Finding]) -> list[Finding]:
        """Return the findings as the caller may view them."""
        return reading.redact(findings=rows, by=self.actor)

    @api_operation(
        "reports_findings_change", "Decide about findings", body=DecisionsIn, answer=FindingChangeCountOut, tag=TAG
    )
    def patch(self, payload: dict[str, Any]) -> dict[str, int]:
        """Apply one decision to all findings in `ids`, in one transaction, and return how many were changed."""
        return {"changed": _apply_decision(payload.pop("ids"), payload, self.actor)}


@signed_in
class FindingDetailView(ApiView):
    """One finding; its assignee may read it too."""

    @api_operation("reports_finding", "Get a finding", answer=ReportFindingDetailOut, tag=TAG)
    def get(self, number: str) -> Response:
        """Return the finding with its trail."""
        return self._send_finding(service.read(id=int(number), by=self.actor))

    # Not `api_operation`: the caller is refused before the body is looked at.
    @openapi_operation(
        "reports_finding_change", "Decide about a finding", body=DecisionIn, answer=ReportFindingDetailOut, tag=TAG
    )
    def patch(self, request: Request, number: str) -> Response:
        """Accept the finding, assign it, close it or open it again; requires MANAGE_POLICIES, also of the assignee."""
        authorizer.require(by=self.actor, any_of=[[reports.REQUIRED_PRIVILEGE]])
        payload = strict_fields.validate(DecisionIn, request.data)
        finding = reading.get_finding(id=int(number))
        _apply_decision([finding.pk], payload, self.actor)
        return self._send_finding(reading.get_finding(id=finding.pk))

    def _send_finding(self, finding: Finding) -> Response:
        (visible_finding,) = reading.redact(findings=[finding], by=self.actor)
        trail = FindingEventOut(reading.list_trail(finding=finding), many=True).data
        return Response({**ReportFindingOut(visible_finding).data, "trail": trail})


def _apply_decision(ids: Collection[int], payload: Mapping[str, Any], by: Actor) -> int:
    note = payload.get("note")
    match Finding.State(payload["state"]):
        case Finding.State.ACCEPTED:
            return service.accept(ids=ids, note=note or "", until=payload.get("until"), by=by, channel=CHANNEL)
        case Finding.State.ASSIGNED:
            return service.assign(ids=ids, assignee=payload["assignee"], note=note, by=by, channel=CHANNEL)
        case Finding.State.CLOSED:
            return service.close(ids=ids, note=note, by=by, channel=CHANNEL)
        case Finding.State.OPEN:
            return service.reopen(ids=ids, by=by, channel=CHANNEL)
