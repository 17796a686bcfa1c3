"""The stream of events in the API: JSON lines after a cursor."""

from typing import Any

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.utils.urls import replace_query_param

from policies.events import stream
from policies.http.api import plain_json, strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import ApiView, PageNumber
from policies.http.guard import needs
from policies.models import EventType
from policies.models.outbox import SCHEMA, Position


class JsonLinesRenderer(JSONRenderer):
    """Lets callers ask for JSON lines; refusals are JSON whatever they ask for."""

    media_type = "application/jsonl"
    format = "jsonl"


class EventCursorField(strict_fields.StrictString):
    """A place in the stream: the id of an event, or the cursor of a link `next`."""

    default_error_messages = {"cursor.invalid": "This is not the id of an event; follow the link `next`."}

    def to_internal_value(self, data: Any) -> Any:
        """Return the Position; raises ValidationError for any other text."""
        try:
            return Position.parse(super().to_internal_value(data))
        except ValueError:
            self.fail("cursor.invalid")


class EventTypesField(strict_fields.StrictString):
    """Types of events, separated by commas; `role.*` stands for all of a noun."""

    default_error_messages = {"type.unknown": "There is no type of events {name!r}."}

    def to_internal_value(self, data: Any) -> Any:
        """Return the list of types; raises ValidationError for a name that matches none."""
        chosen_types: dict[str, None] = {}
        for name in super().to_internal_value(data).split(","):
            matches = [
                type_
                for type_ in EventType.values
                if type_ == name or (name.endswith(".*") and type_.startswith(name[:-1]))
            ]
            if not matches:
                self.fail("type.unknown", name=name)
            chosen_types |= dict.fromkeys(matches)
        return list(chosen_types)


class EventStreamParameters(strict_fields.StrictSerializer):
    """Query of the stream: the cursor, the types, and how many events."""

    after = EventCursorField(required=False, help_text="Events after this one; left out: from the oldest that is kept.")
    types = EventTypesField(required=False, max_length=2_000, help_text="Such as `role.assigned,membership.*`.")
    limit = PageNumber(default=100, min_value=1, max_value=stream.MAX_EVENTS)


class OutboxEventOut(serializers.Serializer[Any]):
    """One event, which is one line. An event that names something that the caller may not view is left out."""

    id = serializers.CharField(help_text="Its place in the stream, for `after`.")
    time = serializers.DateTimeField()
    type = serializers.ChoiceField(EventType.choices)
    subject = serializers.CharField(
        allow_null=True, help_text="A URN, `finding:<id>` or `report:<id>`; null: concealed."
    )
    actor = serializers.CharField(allow_null=True)
    through = serializers.CharField(allow_blank=True, help_text="The channel, such as `api`, `scim` or `clock`.")
    data = serializers.DictField()  # type: ignore[assignment]  # the base has a property of this name
    schema = serializers.ChoiceField([SCHEMA])


@needs("MANAGE_POLICIES", "VIEW_EVENTS")
class EventStreamView(ApiView):
    """The stream of events."""

    renderer_classes = [JsonLinesRenderer, JSONRenderer]

    @openapi_operation(
        "events_stream",
        "Read events after a cursor",
        query=EventStreamParameters,
        answer=OutboxEventOut,
        statuses=(410,),
        media_type=JsonLinesRenderer.media_type,
        tag="events",
    )
    def get(self, request: Request) -> HttpResponse:
        """Return events as JSON lines, in the order of the commits; the header `Link` has the next address.

        410 says that events after the cursor were deleted, and where the oldest that are kept begin.
        """
        query = self.parse_query(EventStreamParameters)
        page = stream.read_after(query.get("after"), types=query.get("types", ()), limit=query["limit"])
        lines = b"".join(plain_json.encode(event) + b"\n" for event in stream.serialize(page.events))
        next_url = replace_query_param(request.build_absolute_uri(), "after", str(page.next_cursor))
        headers = {"Link": f'<{next_url}>; rel="next"', "Cache-Control": "no-store"}
        return HttpResponse(lines, content_type=JsonLinesRenderer.media_type, headers=headers)
