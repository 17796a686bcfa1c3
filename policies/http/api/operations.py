"""Operations of the API: the shapes that the OpenAPI document names are the shapes that the code reads and sends.

A view states only what it does. `list_operation` and `api_operation` describe a method in the OpenAPI document and do
what every method would repeat: they validate the query string and the body, and build the response. The method gets the
parts of the path and the query parameters by name, and the body as one dictionary; it returns rows or an object for the
serializer, nothing (204), or a finished response.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from django.http import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import ApiView, PageParameters, build_page_serializer

#: Query parameters of every list, which no method gets.
_PAGE_PARAMETERS = frozenset(PageParameters().fields)

Serializer = type[serializers.Serializer[Any]]
Method = Callable[..., Any]
Handler = Callable[..., HttpResponseBase]


def list_operation(
    name: str,
    summary: str,
    row: Serializer,
    page: str,
    *,
    tag: str,
    query: type[PageParameters] = PageParameters,
    statuses: Sequence[int] = (),
) -> Callable[[Method], Handler]:
    """Decorate a method that returns all rows of a list, of which one page is sent; `page` names the shape of a page.

    Where rows need more than their own columns, `prepare_rows` of the view replaces the rows of the page.
    """

    def decorate_method(method: Method) -> Handler:
        page_serializer = build_page_serializer(row, page)

        @openapi_operation(name, summary, query=query, answer=page_serializer, statuses=statuses, tag=tag)
        @wraps(method)
        def handle(view: ApiView, _request: Request, **path_parts: Any) -> HttpResponseBase:
            parameters = view.parse_query(query)
            filters = {key: value for key, value in parameters.items() if key not in _PAGE_PARAMETERS}
            rows = method(view, **path_parts, **filters)
            return view.paginate(rows, lambda page_rows: row(view.prepare_rows(page_rows), many=True).data, parameters)

        return handle

    return decorate_method


def api_operation(
    name: str,
    summary: str,
    *,
    tag: str,
    body: Serializer | None = None,
    answer: Serializer | None = None,
    status: int | None = None,
    statuses: Sequence[int] = (),
    is_partial: bool = False,
    is_versioned: bool = False,
    moves_version: bool = False,
) -> Callable[[Method], Handler]:
    """Decorate a method that reads or changes one thing; `statuses` are what it answers besides the usual ones.

    With `is_partial` the body may leave out every field. `is_versioned` and `moves_version` are those of
    `openapi_operation`.
    """
    success_status = status or (204 if answer is None else 200)

    def decorate_method(method: Method) -> Handler:
        @openapi_operation(
            name,
            summary,
            body=body,
            answer=answer,
            status=success_status,
            statuses=statuses,
            is_versioned=is_versioned,
            moves_version=moves_version,
            tag=tag,
        )
        @wraps(method)
        def handle(view: ApiView, request: Request, **path_parts: Any) -> HttpResponseBase:
            payload = () if body is None else (strict_fields.validate(body, request.data, is_partial=is_partial),)
            result = method(view, *payload, **path_parts)
            if isinstance(result, HttpResponseBase):
                return result
            return Response(None if answer is None else answer(result).data, status=success_status)

        return handle

    return decorate_method
