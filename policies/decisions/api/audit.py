"""The change log (policies; people, tokens, grants and the catalog) and the decision log in the API."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from policies.decisions import audit_search
from policies.decisions.api.decision_serializers import DecidingStatementOut
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import ApiView, PageParameters, build_page_serializer
from policies.http.guard import needs
from policies.models import ChangeEvent, LoggedDecision, PolicyEvent, Verb
from policies.models.decision import MAX_EVALUATION_LENGTH
from policies.pdp import authorizer
from policies.pdp.log import decision_log_queries
from policies.writes import change_log_queries

POLICIES, PEOPLE, DECISIONS = "policies", "people", "decisions"

#: Filters that apply to changes only, and to decisions only.
_CHANGE_FILTERS = ("object", "verb", "page")
_DECISION_FILTERS = (
    "actor",
    "privilege",
    "resource",
    "decision",
    "door",
    "evaluation_id",
    "since",
    "until",
    "before",
    "after",
)


@extend_schema_serializer(component_name="EventOut")
class ChangeEventOut(serializers.Serializer[Any]):
    """One write: the object before and after; null for something new or gone.

    An event that names something that the caller may not view is concealed: its actor and time are shown, and nothing
    else.
    """

    id = serializers.IntegerField()
    object = serializers.CharField(allow_null=True, help_text="Null: concealed.")
    name = serializers.CharField(allow_blank=True)
    is_concealed = serializers.BooleanField(help_text="It names something that the caller may not view.")
    verb = serializers.ChoiceField(Verb.choices)
    by = serializers.CharField()
    at = serializers.DateTimeField()
    door = serializers.CharField()
    before = strict_fields.AnyJson()
    after = strict_fields.AnyJson()
    policy_version = serializers.IntegerField(allow_null=True)


@extend_schema_serializer(component_name="LoggedOut")
class LoggedDecisionOut(serializers.Serializer[Any]):
    """One answer that was kept: who asked (`by`), about whom (`actor`) and what, what was said, and why."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    by = serializers.CharField()
    door = serializers.CharField()
    request_id = serializers.CharField(allow_blank=True)
    operation = serializers.CharField(allow_blank=True)
    wanted = serializers.CharField(help_text="The privileges: `A and B or C`.")
    resource = serializers.CharField(allow_null=True, help_text="Null: the platform, a type alone, or concealed.")
    resource_type = serializers.CharField(allow_blank=True)
    sub_resources = serializers.ListField(child=serializers.CharField())
    is_concealed = serializers.BooleanField(help_text="It names something that the caller may not view.")
    decision = serializers.ChoiceField(
        decision_log_queries.OUTCOMES, help_text="UNKNOWN: there is no such privilege, which is no refusal."
    )
    code = serializers.CharField()
    policy_version = serializers.IntegerField(min_value=0)
    statements = DecidingStatementOut(many=True)
    milliseconds = serializers.FloatField()
    evaluation_id = serializers.CharField(
        allow_null=True, help_text="The id under which a policy enforcement point was told of a denial."
    )


class LogPositionField(strict_fields.StrictString):
    """A position in the decision log, as the links `next` and `previous` contain it."""

    default_error_messages = {"place.invalid": "This is not a position in the log; follow `next` and `previous`."}

    def to_internal_value(self, data: Any) -> Any:
        """Return the LogPosition; raises ValidationError for any other text."""
        try:
            return decision_log_queries.LogPosition.parse(super().to_internal_value(data))
        except ValueError:
            self.fail("place.invalid")


class AuditListFilters(PageParameters):
    """Query: `of` selects changes to policies (default), to people (also tokens, grants, the catalog), or decisions.

    `object` and `verb` filter changes; the other filters are for decisions, which are paged by position.
    """

    of = serializers.ChoiceField([POLICIES, PEOPLE, DECISIONS], required=False, default=POLICIES)
    object = strict_fields.StrictUrn(required=False)
    by = strict_fields.StrictUrn(required=False)
    verb = serializers.ChoiceField(Verb.choices, required=False)
    actor = strict_fields.StrictUrn(required=False)
    privilege = strict_fields.StrictString(required=False, max_length=255)
    resource = strict_fields.StrictUrn(required=False)
    decision = serializers.ChoiceField(decision_log_queries.OUTCOMES, required=False)
    door = strict_fields.StrictString(required=False, max_length=32)
    evaluation_id = strict_fields.StrictString(required=False, max_length=MAX_EVALUATION_LENGTH)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False, help_text="Up to this time, without it.")
    before = LogPositionField(required=False)
    after = LogPositionField(required=False)

    def find_contradictions(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return an error for each filter that does not apply to `of`, and for `before` together with `after`."""
        unused_names = _CHANGE_FILTERS if values.get("of") == DECISIONS else _DECISION_FILTERS
        errors = {
            name: [ErrorDetail("This does not narrow that part of the record.", "parameter.unused")]
            for name in unused_names
            if name in values
        }
        if "before" in values and "after" in values:
            errors.setdefault("after", [ErrorDetail("Give before or after, not both.", "place.twice")])
        return errors


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="AuditEntry",
        serializers=[ChangeEventOut, LoggedDecisionOut],
        resource_type_field_name=None,
        many=True,
    )
)
class AuditEntries(serializers.ListField):
    """A list of changes or of decisions."""


_AUDIT_PAGE = build_page_serializer(ChangeEventOut, "Audit", results=AuditEntries())


@needs("MANAGE_POLICIES")
class AuditListView(ApiView):
    """The change log and the decision log."""

    @openapi_operation(
        "audit_list", "List changes or decisions", query=AuditListFilters, answer=_AUDIT_PAGE, tag="audit"
    )
    def get(self, _request: Request) -> Response:
        """Return a page of changes or decisions, newest first.

        Of decisions the count is exact up to 10,000, and 10,001 stands for more.
        """
        query = self.parse_query(AuditListFilters)
        if query["of"] == DECISIONS:
            return self._respond_decisions(query)
        filters = {name: query[name] for name in ("by", "verb") if name in query}
        if query["of"] == POLICIES:
            return self.paginate(
                change_log_queries.list_policy_events(urn=query.get("object"), **filters),
                _serialize_policy_events,
                query,
            )
        return self.paginate(
            audit_search.list_changes(urn=query.get("object"), **filters), _serialize_change_events, query
        )

    def _respond_decisions(self, query: Mapping[str, Any]) -> Response:
        columns = ("actor", "by", "privilege", "resource", "door", "evaluation_id", "since", "until")
        filters = {name: query[name] for name in columns if name in query}
        rows = audit_search.list_decisions(**filters, outcome=query.get("decision", ""))
        log_page = decision_log_queries.load_decision_page(
            rows, size=query["page_size"], before=query.get("before"), after=query.get("after")
        )
        base_url = self.request.build_absolute_uri()
        for name in ("before", "after"):
            base_url = remove_query_param(base_url, name)
        older_url = newer_url = None
        if log_page.rows:
            older_url = replace_query_param(
                base_url, "before", str(decision_log_queries.LogPosition.from_row(log_page.rows[-1]))
            )
            newer_url = replace_query_param(
                base_url, "after", str(decision_log_queries.LogPosition.from_row(log_page.rows[0]))
            )
        return Response(
            {
                "count": decision_log_queries.count_decisions(rows),
                "next": older_url if log_page.has_older else None,
                "previous": newer_url if log_page.has_newer else None,
                "results": _serialize_decisions(log_page.rows),
            }
        )


def _serialize_decisions(rows: Sequence[LoggedDecision]) -> list[dict[str, Any]]:
    urns = {urn for row in rows for urn in (row.resource, *row.sub_resources)} - {""}
    hidden_urns = authorizer.directory().find_hidden_urns(urns=urns)
    return [_serialize_decision(row, hidden_urns) for row in rows]


def _serialize_decision(row: LoggedDecision, hidden_urns: frozenset[str]) -> dict[str, Any]:
    columns = ("id", "at", "actor", "by", "door", "request_id", "operation", "wanted", "resource_type", "code")
    visible_urns = [urn for urn in row.sub_resources if urn not in hidden_urns]
    return {
        **{column: getattr(row, column) for column in columns},
        "resource": None if row.resource in hidden_urns else row.resource or None,
        "sub_resources": visible_urns,
        "is_concealed": row.resource in hidden_urns or len(visible_urns) < len(row.sub_resources),
        "decision": decision_log_queries.find_outcome(row),
        "policy_version": row.policy_version,
        "statements": row.statements,
        "milliseconds": row.milliseconds,
        "evaluation_id": row.evaluation_id or None,
    }


def _serialize_policy_events(events: Sequence[PolicyEvent]) -> list[dict[str, Any]]:
    return [
        {
            **_shared_fields(event),
            "object": event.policy_urn,
            "is_concealed": False,
            "policy_version": event.policy_version,
        }
        for event in events
    ]


def _serialize_change_events(events: Sequence[ChangeEvent]) -> list[dict[str, Any]]:
    urns_by_event = {event.pk: change_log_queries.event_urns(event) for event in events}
    hidden_urns = authorizer.directory().find_hidden_urns(urns=frozenset().union(*urns_by_event.values()))
    return [
        _serialize_change_event(event, is_concealed=not hidden_urns.isdisjoint(urns_by_event[event.pk]))
        for event in events
    ]


def _serialize_change_event(event: ChangeEvent, *, is_concealed: bool) -> dict[str, Any]:
    fields_by_name = {
        **_shared_fields(event),
        "object": event.object_urn,
        "is_concealed": is_concealed,
        "policy_version": None,
    }
    return fields_by_name | ({"object": None, "name": "", "before": None, "after": None} if is_concealed else {})


def _shared_fields(event: PolicyEvent | ChangeEvent) -> dict[str, Any]:
    columns = ("id", "name", "verb", "by", "at", "door", "before", "after")
    return {column: getattr(event, column) for column in columns}
