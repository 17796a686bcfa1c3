"""What reports found wrong, over the API: a list, one, and what becomes of them (docs/reports.md)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.models import Finding, FindingEvent
from catalog.reports.queries import findings as reading
from catalog.reports.services import findings as service
from catalog.reports.services import reports
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import Door, Paged, page_of
from policies.http.guard import needs, signed_in
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import authorizer

TAG = "reports"
SEES = needs(reports.NEEDED)

#: How many findings one call may change.
_MOST = 10_000


class ReportFindingOut(serializers.Serializer[Any]):
    """A finding. What could name something that the caller may not view is null, and `values` empty."""

    id = serializers.IntegerField()
    kind = serializers.CharField(help_text="The kind of the report.")
    key = serializers.CharField(allow_null=True, help_text="The same in every run.")
    type = serializers.CharField()
    severity = serializers.ChoiceField(Finding.Severity.choices)
    state = serializers.ChoiceField(Finding.State.choices)
    assignee = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    decided_by = serializers.CharField(allow_null=True, help_text="Null: nobody, or a run.")
    decided_at = serializers.DateTimeField(allow_null=True)
    sentence = serializers.CharField(allow_null=True)
    repair = serializers.CharField(allow_null=True, help_text="The statement that would end it in the source system.")
    values = serializers.DictField()
    is_concealed = serializers.BooleanField()
    first_seen = serializers.UUIDField(allow_null=True, help_text="The run; null when it is no longer kept.")
    first_seen_at = serializers.DateTimeField()
    last_seen = serializers.UUIDField(allow_null=True)
    last_seen_at = serializers.DateTimeField()
    accepted_until = serializers.DateField(
        allow_null=True, help_text="The last day (UTC) of an acceptance; the finding is open again after it."
    )
    subject = serializers.CharField(
        allow_null=True, help_text="The URN that it is about first; findings of a type about the same one are alike."
    )


class FindingEventOut(serializers.Serializer[Any]):
    """One decision about a finding."""

    at = serializers.DateTimeField()
    by = serializers.CharField(allow_null=True, help_text="Null: a run, or the end of an acceptance.")
    state = serializers.ChoiceField(Finding.State.choices)
    assignee = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_blank=True)
    accepted_until = serializers.DateField(allow_null=True)
    report = serializers.UUIDField(allow_null=True, help_text="The run that did it, while it is kept.")


class OneReportFindingOut(ReportFindingOut):
    """A finding with what was decided about it."""

    trail = FindingEventOut(many=True, help_text=f"The newest first; at most {reading.TRAIL_LENGTH}.")


class FindingFilters(Paged):
    """Which findings to list; in every state unless one is given."""

    q = strict_fields.Text(required=False, allow_blank=True, max_length=512, help_text="Every word is in the sentence.")
    kind = strict_fields.Text(required=False, max_length=64)
    type = strict_fields.Text(required=False, max_length=64)
    severity = serializers.ChoiceField(Finding.Severity.choices, required=False)
    state = serializers.ChoiceField(Finding.State.choices, required=False)
    assignee = strict_fields.Urn(required=False, prefixes=(USER_PREFIX, GROUP_PREFIX))
    subject = strict_fields.Urn(required=False)


class DecisionIn(strict_fields.Strict):
    """What becomes of a finding. ACCEPTED needs a note and may end with a day, ASSIGNED needs an assignee."""

    state = serializers.ChoiceField(Finding.State.choices)
    note = strict_fields.Text(required=False, max_length=4000)
    assignee = strict_fields.Urn(required=False, prefixes=(USER_PREFIX, GROUP_PREFIX))
    until = serializers.DateField(
        required=False, help_text="The last day (UTC) of an acceptance; without it the acceptance does not end."
    )

    def contradictions(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Say what a state lacks, and what it has no use for."""
        state = given.get("state")
        found = {}
        if state == Finding.State.ASSIGNED and "assignee" not in given:
            found["assignee"] = [ErrorDetail("Say to whom.", "required")]
        if state != Finding.State.ASSIGNED and "assignee" in given:
            found["assignee"] = [ErrorDetail("Only what is ASSIGNED has an assignee.", "field.unused")]
        if state != Finding.State.ACCEPTED and "until" in given:
            found["until"] = [ErrorDetail("Only what is ACCEPTED ends on a day.", "field.unused")]
        if state == Finding.State.OPEN and "note" in given:
            found["note"] = [ErrorDetail("What is opened again keeps its note.", "field.unused")]
        return found


class DecisionsIn(DecisionIn):
    """What becomes of several findings."""

    ids = strict_fields.List(child=strict_fields.Whole(min_value=1), min_length=1, max_length=_MOST)


class ChangedOut(serializers.Serializer[Any]):
    """How many findings were changed; those that are gone are passed over."""

    changed = serializers.IntegerField(min_value=0)


class _Findings(Door):
    def shown(self, findings: Sequence[Finding]) -> list[Any]:
        """Return findings as they are sent."""
        concealed = reading.concealed(findings=findings, by=self.actor)
        return [ReportFindingOut(_finding(one, is_concealed=one.pk in concealed)).data for one in findings]


@SEES
class Findings(_Findings):
    """The findings of all reports."""

    @described(
        "reports_findings",
        "List findings",
        query=FindingFilters,
        answer=page_of(ReportFindingOut, "ReportFinding"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of findings, the worst first."""
        asked = self.asked(FindingFilters)
        wanted = {name: asked[name] for name in ("kind", "type", "severity", "assignee", "subject") if name in asked}
        states = [asked["state"]] if "state" in asked else []
        return self.page(reading.findings(text=asked.get("q", ""), states=states, **wanted), self.shown, asked)

    @described("reports_findings_change", "Decide about findings", body=DecisionsIn, answer=ChangedOut, tag=TAG)
    def patch(self, request: Request) -> Response:
        """Decide about as many findings as are named, in one act."""
        sent = strict_fields.checked(DecisionsIn, request.data)
        return Response({"changed": _decided(sent.pop("ids"), sent, self.actor)})


@signed_in
class OneFinding(_Findings):
    """One finding; whom it is assigned to may read it too."""

    @described("reports_finding", "Get a finding", answer=OneReportFindingOut, tag=TAG)
    def get(self, _request: Request, number: str) -> Response:
        """Return the finding."""
        return Response(self._tell(service.read(id=int(number), by=self.actor)))

    @described("reports_finding_change", "Decide about a finding", body=DecisionIn, answer=OneReportFindingOut, tag=TAG)
    def patch(self, request: Request, number: str) -> Response:
        """Accept it, assign it, close it or open it again."""
        authorizer.require(by=self.actor, any_of=[[reports.NEEDED]])
        sent = strict_fields.checked(DecisionIn, request.data)
        found = reading.finding(id=int(number))
        _decided([found.pk], sent, self.actor)
        return Response(self._tell(reading.finding(id=found.pk)))

    def _tell(self, found: Finding) -> dict[str, Any]:
        is_concealed = found.pk in reading.concealed(findings=[found], by=self.actor)
        trail = [_event(one) for one in reading.list_trail(finding=found)]
        told: dict[str, Any] = OneReportFindingOut({**_finding(found, is_concealed=is_concealed), "trail": trail}).data
        return told


def _decided(ids: Collection[int], sent: Mapping[str, Any], by: Actor) -> int:
    note = sent.get("note")
    match Finding.State(sent["state"]):
        case Finding.State.ACCEPTED:
            return service.accept(ids=ids, note=note or "", until=sent.get("until"), by=by)
        case Finding.State.ASSIGNED:
            return service.assign(ids=ids, assignee=sent["assignee"], note=note, by=by)
        case Finding.State.CLOSED:
            return service.close(ids=ids, note=note, by=by)
        case Finding.State.OPEN:
            return service.reopen(ids=ids, by=by)


def _finding(found: Finding, *, is_concealed: bool) -> dict[str, Any]:
    columns = (
        "id",
        "kind",
        "type",
        "severity",
        "state",
        "note",
        "decided_at",
        "first_seen_at",
        "last_seen_at",
        "accepted_until",
    )
    naming = ("key", "sentence", "repair", "subject")
    return {
        **{column: getattr(found, column) for column in columns},
        **{column: None if is_concealed else _naming(found, column) for column in naming},
        "assignee": found.assignee or None,
        "decided_by": found.decided_by or None,
        "values": {} if is_concealed else found.values,
        "is_concealed": is_concealed,
        "first_seen": found.first_seen_id,
        "last_seen": found.last_seen_id,
    }


def _naming(found: Finding, column: str) -> str | None:
    value: str = getattr(found, column)
    return value or None if column == "subject" else value


def _event(one: FindingEvent) -> dict[str, Any]:
    return {
        **{name: getattr(one, name) for name in ("at", "state", "note", "accepted_until")},
        "by": one.by or None,
        "assignee": one.assignee or None,
        "report": one.report_id,
    }
