"""Who changed what: the record of writes to policies, and of those to people, roles and tokens."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies import queries
from policies.api import fields
from policies.api.base import Door, Paged, page_of
from policies.api.described import described
from policies.guard import needs
from policies.models import ChangeEvent, PolicyEvent, Verb

POLICIES, PEOPLE = "policies", "people"


class EventOut(serializers.Serializer[Any]):
    """One write: the object before and after; null for something new or gone."""

    id = serializers.IntegerField()
    object = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    verb = serializers.ChoiceField(Verb.choices)
    by = serializers.CharField()
    at = serializers.DateTimeField()
    door = serializers.CharField()
    before = fields.Json()
    after = fields.Json()
    policy_version = serializers.IntegerField(allow_null=True)


class EventFilters(Paged):
    """Which part of the record: of policies unless `of` says people (users, groups, roles, tokens)."""

    of = serializers.ChoiceField([POLICIES, PEOPLE], required=False, default=POLICIES)
    object = fields.Urn(required=False)
    by = fields.Urn(required=False)
    verb = serializers.ChoiceField(Verb.choices, required=False)


@needs("MANAGE_POLICIES")
class Audit(Door):
    """The record of changes."""

    @described("audit_list", "List changes", query=EventFilters, answer=page_of(EventOut, "Event"), tag="audit")
    def get(self, _request: Request) -> Response:
        """Return a page of changes, newest first."""
        asked = self.asked(EventFilters)
        wanted = {name: asked[name] for name in ("by", "verb") if name in asked}
        if asked["of"] == POLICIES:
            return self.page(queries.policy_events(urn=asked.get("object"), **wanted), _of_policies, asked)
        return self.page(queries.change_events(urn=asked.get("object"), **wanted), _of_people, asked)


def _of_policies(events: Sequence[PolicyEvent]) -> list[dict[str, Any]]:
    return [{**_shared(event), "object": event.policy_urn, "policy_version": event.policy_version} for event in events]


def _of_people(events: Sequence[ChangeEvent]) -> list[dict[str, Any]]:
    return [{**_shared(event), "object": event.object_urn, "policy_version": None} for event in events]


def _shared(event: PolicyEvent | ChangeEvent) -> dict[str, Any]:
    columns = ("id", "name", "verb", "by", "at", "door", "before", "after")
    return {column: getattr(event, column) for column in columns}
