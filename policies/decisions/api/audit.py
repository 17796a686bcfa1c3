"""Who changed what (policies; people, tokens, grants and the catalog), and the decision log: asked and answered."""

from collections.abc import Mapping, Sequence
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param

from policies.decisions import audit_search
from policies.decisions.api.decision_serializers import OUTCOMES
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import Door, Paged, page_of
from policies.http.guard import needs
from policies.models import ChangeEvent, LoggedDecision, PolicyEvent, Verb
from policies.pdp import authorizer, decision_log_queries
from policies.writes import change_log_queries

POLICIES, PEOPLE, DECISIONS = "policies", "people", "decisions"

#: Which filters go with which part of the record.
_OF_CHANGES = ("object", "verb", "page")
_OF_DECISIONS = ("actor", "privilege", "resource", "decision", "door", "since", "until", "before", "after")


class EventOut(serializers.Serializer[Any]):
    """One write: the object before and after; null for something new or gone.

    What names something that the caller may not view is concealed: who did it and when is shown, and nothing else.
    """

    id = serializers.IntegerField()
    object = serializers.CharField(allow_null=True, help_text="Null: concealed.")
    name = serializers.CharField(allow_blank=True)
    is_concealed = serializers.BooleanField(help_text="It names something that the caller may not view.")
    verb = serializers.ChoiceField(Verb.choices)
    by = serializers.CharField()
    at = serializers.DateTimeField()
    door = serializers.CharField()
    before = strict_fields.Json()
    after = strict_fields.Json()
    policy_version = serializers.IntegerField(allow_null=True)


class DecidedByOut(serializers.Serializer[Any]):
    """A statement that decided."""

    policy = serializers.CharField()
    name = serializers.CharField()
    statement = serializers.IntegerField(min_value=0)
    effect = serializers.ChoiceField(["allow", "deny"])


class LoggedOut(serializers.Serializer[Any]):
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
    decision = serializers.ChoiceField(OUTCOMES)
    code = serializers.CharField()
    policy_version = serializers.IntegerField(min_value=0)
    statements = DecidedByOut(many=True)
    milliseconds = serializers.FloatField()


class PlaceIn(strict_fields.Text):
    """A place in the decision log, as `next` and `previous` name it."""

    default_error_messages = {"place.invalid": "This is not a position in the log; follow `next` and `previous`."}

    def to_internal_value(self, data: Any) -> Any:
        """Return the place; any other text is invalid."""
        try:
            return decision_log_queries.Place.read(super().to_internal_value(data))
        except ValueError:
            self.fail("place.invalid")


class EventFilters(Paged):
    """Which part of the record: of policies unless `of` says people (also tokens, grants and the catalog) or decisions.

    Changes have an `object` and a `verb`; the other filters are those of decisions, which are read on from a place.
    """

    of = serializers.ChoiceField([POLICIES, PEOPLE, DECISIONS], required=False, default=POLICIES)
    object = strict_fields.Urn(required=False)
    by = strict_fields.Urn(required=False)
    verb = serializers.ChoiceField(Verb.choices, required=False)
    actor = strict_fields.Urn(required=False)
    privilege = strict_fields.Text(required=False, max_length=255)
    resource = strict_fields.Urn(required=False)
    decision = serializers.ChoiceField(OUTCOMES, required=False)
    door = strict_fields.Text(required=False, max_length=32)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False, help_text="Up to this time, without it.")
    before = PlaceIn(required=False)
    after = PlaceIn(required=False)

    def contradictions(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse filters of another part of the record, and two places at once."""
        others = _OF_CHANGES if given.get("of") == DECISIONS else _OF_DECISIONS
        found = {
            name: [ErrorDetail("This does not narrow that part of the record.", "parameter.unused")]
            for name in others
            if name in given
        }
        if "before" in given and "after" in given:
            found.setdefault("after", [ErrorDetail("Give before or after, not both.", "place.twice")])
        return found


@extend_schema_field(
    PolymorphicProxySerializer(
        component_name="AuditEntry", serializers=[EventOut, LoggedOut], resource_type_field_name=None, many=True
    )
)
class AuditEntries(serializers.ListField):
    """Changes, or decisions."""


_PAGE = page_of(EventOut, "Audit", results=AuditEntries())


@needs("MANAGE_POLICIES")
class Audit(Door):
    """The record of changes, and the decision log."""

    @described("audit_list", "List changes or decisions", query=EventFilters, answer=_PAGE, tag="audit")
    def get(self, _request: Request) -> Response:
        """Return a page of changes or decisions, newest first.

        Of decisions the count is exact up to 10,000, and 10,001 stands for more.
        """
        asked = self.asked(EventFilters)
        if asked["of"] == DECISIONS:
            return self._decisions(asked)
        wanted = {name: asked[name] for name in ("by", "verb") if name in asked}
        if asked["of"] == POLICIES:
            return self.page(change_log_queries.policy_events(urn=asked.get("object"), **wanted), _of_policies, asked)
        return self.page(audit_search.list_changes(urn=asked.get("object"), **wanted), _of_people, asked)

    def _decisions(self, asked: Mapping[str, Any]) -> Response:
        columns = ("actor", "by", "privilege", "resource", "door", "since", "until")
        wanted = {name: asked[name] for name in columns if name in asked}
        is_allowed = {"ALLOW": True, "DENY": False}.get(asked.get("decision", ""))
        rows = audit_search.list_decisions(**wanted, is_allowed=is_allowed)
        found = decision_log_queries.decisions_at(
            rows, size=asked["page_size"], before=asked.get("before"), after=asked.get("after")
        )
        bare = self.request.build_absolute_uri()
        for name in ("before", "after"):
            bare = remove_query_param(bare, name)
        older = newer = None
        if found.rows:
            older = replace_query_param(bare, "before", str(decision_log_queries.Place.of(found.rows[-1])))
            newer = replace_query_param(bare, "after", str(decision_log_queries.Place.of(found.rows[0])))
        return Response(
            {
                "count": decision_log_queries.decisions_counted(rows),
                "next": older if found.has_older else None,
                "previous": newer if found.has_newer else None,
                "results": _of_decisions(found.rows),
            }
        )


def _of_decisions(rows: Sequence[LoggedDecision]) -> list[dict[str, Any]]:
    named = {urn for row in rows for urn in (row.resource, *row.sub_resources)} - {""}
    hidden = authorizer.directory().hidden(urns=named)
    return [_decision(row, hidden) for row in rows]


def _decision(row: LoggedDecision, hidden: frozenset[str]) -> dict[str, Any]:
    columns = ("id", "at", "actor", "by", "door", "request_id", "operation", "wanted", "resource_type", "code")
    shown = [urn for urn in row.sub_resources if urn not in hidden]
    return {
        **{column: getattr(row, column) for column in columns},
        "resource": None if row.resource in hidden else row.resource or None,
        "sub_resources": shown,
        "is_concealed": row.resource in hidden or len(shown) < len(row.sub_resources),
        "decision": "ALLOW" if row.is_allowed else "DENY",
        "policy_version": row.policy_version,
        "statements": row.statements,
        "milliseconds": row.milliseconds,
    }


def _of_policies(events: Sequence[PolicyEvent]) -> list[dict[str, Any]]:
    return [
        {
            **_shared(event),
            "object": event.policy_urn,
            "is_concealed": False,
            "policy_version": event.policy_version,
        }
        for event in events
    ]


def _of_people(events: Sequence[ChangeEvent]) -> list[dict[str, Any]]:
    named = {event.pk: change_log_queries.urns_in(event) for event in events}
    hidden = authorizer.directory().hidden(urns=frozenset().union(*named.values()))
    return [_change(event, is_concealed=not hidden.isdisjoint(named[event.pk])) for event in events]


def _change(event: ChangeEvent, *, is_concealed: bool) -> dict[str, Any]:
    told = {**_shared(event), "object": event.object_urn, "is_concealed": is_concealed, "policy_version": None}
    return told | ({"object": None, "name": "", "before": None, "after": None} if is_concealed else {})


def _shared(event: PolicyEvent | ChangeEvent) -> dict[str, Any]:
    columns = ("id", "name", "verb", "by", "at", "door", "before", "after")
    return {column: getattr(event, column) for column in columns}
