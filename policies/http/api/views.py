"""Base of every API endpoint: the caller, pages of a list, versions in headers, and both spellings of a path."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from django.db.models import QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import remove_query_param, replace_query_param
from rest_framework.views import APIView

from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.http import guard
from policies.http.api import strict_fields
from policies.http.guard import get_actor

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200

#: Name of this interface in change records.
CHANNEL = guard.API

Row = TypeVar("Row")

_ENTITY_TAG_PATTERN = re.compile(r'\s*(?:W/)?"?([0-9]{1,18})"?\s*')


class PageNumber(serializers.IntegerField):
    """A number from 1 in a query string or body. A number too large for any page stands for a page past the end."""

    default_error_messages = {"invalid": "This must be a whole number from 1."}

    def to_internal_value(self, data: Any) -> int:
        """Return the number, at most MAX_INTEGER; raises ValidationError for anything but digits."""
        text = str(data) if isinstance(data, int) and not isinstance(data, bool) else data
        if not isinstance(text, str) or not text.isascii() or not text.isdigit():
            self.fail("invalid")
        digits = text.lstrip("0")
        return int(digits or 0) if len(digits) <= 18 else strict_fields.MAX_INTEGER


class PageParameters(strict_fields.StrictSerializer):
    """Query parameters of a list: page number and page size."""

    page = PageNumber(default=1, min_value=1, help_text="A page past the end is empty.")
    page_size = PageNumber(default=PAGE_SIZE, min_value=1, max_value=MAX_PAGE_SIZE)


class ApiView(APIView):
    """One path of the API.

    Paths have one spelling, but POST works with and without the trailing slash: the view of the other spelling has
    `is_other_spelling` and accepts POST only.
    """

    is_other_spelling: ClassVar[bool] = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404 for any method but POST at the other spelling, then run the framework's checks of the caller."""
        if self.is_other_spelling and request.method != "POST":
            raise Http404
        super().initial(request, *args, **kwargs)

    @property
    def actor(self) -> Actor:
        """The calling actor."""
        return get_actor(self.request)

    def parse_query(self, filters: type[serializers.Serializer[Any]] = PageParameters) -> dict[str, Any]:
        """Return the validated query string; raises for unknown, repeated and wrong parameters."""
        query_params = self.request.query_params
        if repeated_names := [name for name in query_params if len(query_params.getlist(name)) > 1]:
            raise Invalid([Problem("parameter.twice", f"/{name}", "Give this once.") for name in repeated_names])
        return strict_fields.validate(filters, dict(query_params.items()))

    def prepare_rows(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the rows of one page as the serializer of the list takes them (see `operations.list_operation`)."""
        return rows

    def paginate(
        self,
        rows: QuerySet[Any, Row] | Sequence[Row],
        serialize: Callable[[Sequence[Row]], Iterable[Any]],
        query: Mapping[str, Any],
        *,
        max_count: int | None = None,
    ) -> Response:
        """Return one page of `rows` as a response; `serialize` turns the rows of the page into the items sent.

        With `max_count` rows are counted up to that number only; `max_count` + 1 then stands for every larger count.
        """
        page_number, page_size = query["page"], query["page_size"]
        count = _count_rows(rows, max_count)
        start = (page_number - 1) * page_size
        has_uncounted = max_count is not None and count > max_count
        fetched_rows = list(rows[start : start + page_size + 1]) if start < count or has_uncounted else []
        page_rows = fetched_rows[:page_size]
        url = self.request.build_absolute_uri()
        previous_url = replace_query_param(url, "page", page_number - 1)
        return Response(
            {
                "count": count,
                "next": replace_query_param(url, "page", page_number + 1) if len(fetched_rows) > page_size else None,
                "previous": None
                if page_number == 1
                else remove_query_param(url, "page")
                if page_number == 2
                else previous_url,
                "results": list(serialize(page_rows)),
            }
        )

    def parse_if_match(self) -> int | None:
        """Return the version in `If-Match`, None without the header or for `*`; raises Invalid for another value."""
        header = self.request.headers.get("If-Match")
        if header is None or header.strip() == "*":
            return None
        match = _ENTITY_TAG_PATTERN.fullmatch(header)
        if match is None:
            raise Invalid.from_problem(code="header.invalid", pointer="/If-Match", detail='Give a version as in "3".')
        return int(match.group(1))


def _count_rows(rows: QuerySet[Any, Row] | Sequence[Row], max_count: int | None) -> int:
    if not isinstance(rows, QuerySet):
        return len(rows)
    return rows.count() if max_count is None else rows.order_by()[: max_count + 1].count()


def build_page_serializer(
    item: type[serializers.Serializer[Any]], name: str, **extra_fields: serializers.Field[Any, Any, Any, Any]
) -> serializers.Serializer[Any]:
    """Return the serializer of a page of `item`s with `extra_fields`, for the OpenAPI document."""
    serializer: serializers.Serializer[Any] = type(
        f"{name}Page",
        (serializers.Serializer,),
        {
            "count": serializers.IntegerField(min_value=0),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": item(many=True),
            **extra_fields,
        },
    )()
    return serializer


def find_read_only_changes(payload: Mapping[str, Any], current_values: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each read-only field that was sent with another value than the stored one."""
    return [
        Problem("read_only", f"/{name}", "This cannot be changed here.")
        for name, value in current_values.items()
        if name in payload and payload[name] != value
    ]
