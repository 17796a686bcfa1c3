"""Error pages for anticipated refusals: errors of services become 400, 403, 404, 409, 412 or 503 with a text."""

from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import is_valid_path, reverse
from django.utils.encoding import escape_uri_path, iri_to_uri

from policies.engine.families import vocabulary
from policies.engine.model import MissingPrivilege
from policies.errors import Forbidden, PolicyAppError
from policies.http.pages.request_links import build_missing_url

_TITLES = {
    HTTPStatus.BAD_REQUEST: "This request could not be read",
    HTTPStatus.CONFLICT: "This contradicts what is stored",
    HTTPStatus.PRECONDITION_FAILED: "Somebody else changed this meanwhile",
}


class RefusalPages:
    """Middleware of the pages; the API and the other interfaces answer errors in their own formats."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Return the response; a 404 that is due only to a trailing slash becomes a redirect."""
        response = self.get_response(request)
        if response.status_code == HTTPStatus.NOT_FOUND and request.path_info.endswith("/"):
            return redirect_without_slash(request) or response
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the page of a refusal, or None for an unanticipated exception."""
        if not isinstance(exception, PolicyAppError):
            return None
        status = HTTPStatus(exception.status)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            # The layout of every other page needs the very facts that cannot be loaded.
            return HttpResponse(render_to_string("503.html"), status=status)
        if isinstance(exception, Forbidden):
            return render(request, "403.html", refusal_context(exception), status=status)
        if status == HTTPStatus.NOT_FOUND:
            return render(request, "404.html", {"reason": exception.detail}, status=status)
        context = {"code": status.value, "title": _TITLES.get(status, "This was refused"), "reason": exception.detail}
        response = render(request, "400.html", context, status=status)
        for name, value in exception.headers.items():
            response.headers[name] = value
        return response


def redirect_without_slash(request: HttpRequest) -> HttpResponse | None:
    """Return a redirect to the same URL without its trailing slashes, or None where that URL does not exist.

    Methods other than GET and HEAD keep method and body (307).
    """
    # URLs of the API and of Django's admin site end in a slash: a 404 from one of their views is final.
    is_answered = request.resolver_match is not None and request.path_info.startswith(("/api/", "/admin/"))
    if is_answered or not is_valid_path(request.path_info.rstrip("/")):
        return None
    # Several leading slashes would be read as the name of another host.
    address = "/" + request.path.strip("/")
    query = request.META.get("QUERY_STRING", "")
    return HttpResponseRedirect(
        f"{escape_uri_path(address)}{'?' if query else ''}{iri_to_uri(query)}",
        preserve_request=request.method not in ("GET", "HEAD"),
    )


def refusal_context(refusal: Forbidden) -> dict[str, object]:
    """Return the context of the 403 page: each list of missing privileges with display names, and links."""
    if not refusal.missing_any:
        return {"reason": refusal.detail}
    first_missing = refusal.missing_any[0][0]
    query = {
        "privilege": first_missing.privilege,
        **({"resource": first_missing.entity} if first_missing.entity else {}),
    }
    return {
        "missing": [_describe(missing_privilege) for missing_privilege in refusal.missing],
        "missing_any": [
            [_describe(missing_privilege) for missing_privilege in alternative] for alternative in refusal.missing_any
        ],
        "why_url": f"{reverse('why')}?{urlencode(query)}",
        "way_url": f"{reverse('why-way')}?{urlencode(query)}",
        "request_url": build_missing_url(refusal.missing_any[0]),
    }


def _describe(missing_privilege: MissingPrivilege) -> dict[str, str | None]:
    info = vocabulary.load_datahub().get(missing_privilege.privilege)
    return {
        "privilege": missing_privilege.privilege,
        "entity": missing_privilege.entity,
        "display": info.display if info else "",
    }
