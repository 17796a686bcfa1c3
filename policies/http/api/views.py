"""What every endpoint has: the caller, pages of a list, versions in headers, and both spellings of a path."""

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
from policies.http.api import strict_fields
from policies.http.guard import actor_of

PAGE_SIZE = 50
LARGEST_PAGE = 200

#: What the record of changes calls this door.
DOOR = "api"

Row = TypeVar("Row")

_ENTITY_TAG = re.compile(r'\s*(?:W/)?"?([0-9]{1,18})"?\s*')


class PageNumber(serializers.IntegerField):
    """A number in a query string or body, from 1. One too large to be a page is a page past the end."""

    default_error_messages = {"invalid": "This must be a whole number from 1."}

    def to_internal_value(self, data: Any) -> int:
        """Return the number; nothing else than digits is one."""
        text = str(data) if isinstance(data, int) and not isinstance(data, bool) else data
        if not isinstance(text, str) or not text.isascii() or not text.isdigit():
            self.fail("invalid")
        digits = text.lstrip("0")
        return int(digits or 0) if len(digits) <= 18 else strict_fields.BIGGEST


class Paged(strict_fields.Strict):
    """Which page of a list, and how long a page is."""

    page = PageNumber(default=1, min_value=1, help_text="A page past the end is empty.")
    page_size = PageNumber(default=PAGE_SIZE, min_value=1, max_value=LARGEST_PAGE)


class Door(APIView):
    """One path of the API.

    Paths are spelled one way, but POST works with and without the slash at the end: the view of the other spelling has
    `is_other_spelling` and knows POST only.
    """

    is_other_spelling: ClassVar[bool] = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse the other spelling of a path to everything but POST, then let the framework ask who calls."""
        if self.is_other_spelling and request.method != "POST":
            raise Http404
        super().initial(request, *args, **kwargs)

    @property
    def actor(self) -> Actor:
        """Who is calling."""
        return actor_of(self.request)

    def asked(self, filters: type[serializers.Serializer[Any]] = Paged) -> dict[str, Any]:
        """Return the checked query string; an unknown or repeated parameter is an error, as everywhere."""
        sent = self.request.query_params
        if doubled := [name for name in sent if len(sent.getlist(name)) > 1]:
            raise Invalid([Problem("parameter.twice", f"/{name}", "Give this once.") for name in doubled])
        return strict_fields.checked(filters, dict(sent.items()))

    def page(
        self,
        rows: QuerySet[Any, Row] | Sequence[Row],
        show: Callable[[Sequence[Row]], Iterable[Any]],
        asked: Mapping[str, Any],
        *,
        most: int | None = None,
    ) -> Response:
        """Answer one page of the rows; `show` turns the rows of the page into what is sent.

        With `most` they are counted up to that number only, and one more stands for all numbers above.
        """
        number, size = asked["page"], asked["page_size"]
        count = _count(rows, most)
        start = (number - 1) * size
        is_more = most is not None and count > most
        found = list(rows[start : start + size + 1]) if start < count or is_more else []
        shown = found[:size]
        address = self.request.build_absolute_uri()
        before = replace_query_param(address, "page", number - 1)
        return Response(
            {
                "count": count,
                "next": replace_query_param(address, "page", number + 1) if len(found) > size else None,
                "previous": None if number == 1 else remove_query_param(address, "page") if number == 2 else before,
                "results": list(show(shown)),
            }
        )

    def if_version(self) -> int | None:
        """Return the version that `If-Match` demands, or None; raises Invalid for a header that names none."""
        header = self.request.headers.get("If-Match")
        if header is None or header.strip() == "*":
            return None
        found = _ENTITY_TAG.fullmatch(header)
        if found is None:
            raise Invalid.one(code="header.invalid", pointer="/If-Match", detail='Give a version as in "3".')
        return int(found.group(1))


def _count(rows: QuerySet[Any, Row] | Sequence[Row], most: int | None) -> int:
    if not isinstance(rows, QuerySet):
        return len(rows)
    return rows.count() if most is None else rows.order_by()[: most + 1].count()


def page_of(
    item: type[serializers.Serializer[Any]], name: str, **more: serializers.Field[Any, Any, Any, Any]
) -> serializers.Serializer[Any]:
    """Return the shape of a page of these items, and further fields, for the document that describes the API."""
    shape: serializers.Serializer[Any] = type(
        f"{name}Page",
        (serializers.Serializer,),
        {
            "count": serializers.IntegerField(min_value=0),
            "next": serializers.URLField(allow_null=True),
            "previous": serializers.URLField(allow_null=True),
            "results": item(many=True),
            **more,
        },
    )()
    return shape


def unchanged(sent: Mapping[str, Any], stored: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each field that cannot be changed here and does not say what is stored."""
    return [
        Problem("read_only", f"/{name}", "This cannot be changed here.")
        for name, value in stored.items()
        if name in sent and sent[name] != value
    ]
