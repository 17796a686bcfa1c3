"""The one thing that the views without middleware need: without a length granian would send an answer in chunks."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


def with_length(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Say how long the answer is."""

    def handle(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers["Content-Length"] = str(len(response.content))
        return response

    return handle
