"""Anticipated refusals as pages: what services raise becomes 400, 403, 404, 409, 412 or 503 in words."""

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

_TITLES = {
    HTTPStatus.BAD_REQUEST: "This request could not be read",
    HTTPStatus.CONFLICT: "This contradicts what is stored",
    HTTPStatus.PRECONDITION_FAILED: "Somebody else changed this meanwhile",
}


class RefusalPages:
    """Middleware of the pages; the API and the other doors answer in their own words."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass the request on; an address that leads nowhere only because of a slash at its end is redirected."""
        response = self.get_response(request)
        if response.status_code == HTTPStatus.NOT_FOUND and request.path_info.endswith("/"):
            return redirect_without_slash(request) or response
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the page of a refusal, or None for anything that was not anticipated."""
        if not isinstance(exception, PolicyAppError):
            return None
        status = HTTPStatus(exception.status)
        if status == HTTPStatus.SERVICE_UNAVAILABLE:
            # What is around every other page asks the very facts that are missing.
            return HttpResponse(render_to_string("503.html"), status=status)
        if isinstance(exception, Forbidden):
            return render(request, "403.html", refusal_context(exception), status=status)
        if status == HTTPStatus.NOT_FOUND:
            return render(request, "404.html", {"reason": exception.detail}, status=status)
        context = {"code": status.value, "title": _TITLES.get(status, "This was refused"), "reason": exception.detail}
        return render(request, "400.html", context, status=status)


def redirect_without_slash(request: HttpRequest) -> HttpResponse | None:
    """Return a redirect to the same address without the slashes at its end, or None where there is no such address.

    The method and the body are kept (307) where the request may change something.
    """
    # Addresses of the API and of Django's admin site are spelt with a slash: a view that answered meant what it said.
    is_answered = request.resolver_match is not None and request.path_info.startswith(("/api/", "/admin/"))
    if is_answered or not is_valid_path(request.path_info.rstrip("/")):
        return None
    # More than one slash at the beginning would be read as the name of another host.
    address = "/" + request.path.strip("/")
    query = request.META.get("QUERY_STRING", "")
    return HttpResponseRedirect(
        f"{escape_uri_path(address)}{'?' if query else ''}{iri_to_uri(query)}",
        preserve_request=request.method not in ("GET", "HEAD"),
    )


def refusal_context(refusal: Forbidden) -> dict[str, object]:
    """Return what the page of a refusal shows: each list of missing privileges in words, and the way to Why."""
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
    }


def _describe(missing_privilege: MissingPrivilege) -> dict[str, str | None]:
    info = vocabulary.load_datahub().get(missing_privilege.privilege)
    return {
        "privilege": missing_privilege.privilege,
        "entity": missing_privilege.entity,
        "display": info.display if info else "",
    }
