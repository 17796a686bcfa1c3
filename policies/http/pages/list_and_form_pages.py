"""The frames of pages: what every list, confirmation and action has in common stands here once.

A page module states only what differs:

- `page_view` (GET), `form_view` (GET and POST) and `action_view` (POST) decorate a view with its guard and its methods;
  no answer is cached.
- `render_filtered_list` is a whole list page: filters from the query string, rows, columns and page; htmx gets the
  fragment alone. `render_list` is its last step, for lists that need more.
- `ask_and_act` is a whole confirmation: it asks (GET), then acts (POST).
- `Section` gives the breadcrumbs of all pages of one section, `check_permissions` the rights that a template offers.
- `policies.http.pages.form_page.FormPage` is a page with one form, which saves itself.
- `policies.http.pages.record_pages.RecordPages` has list, creation and deletion of one kind of record.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from policies.engine.requirements import Requirement
from policies.http import guard as guards
from policies.http.guard import Guard, get_actor
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator

#: Name of this interface in change records.
CHANNEL = guards.PAGES

PAGE_SIZE = 25
#: Page sizes that a reader can choose (rules/datahub.md e).
PAGE_SIZES = (10, PAGE_SIZE, 50, 100)

#: Status of the answer to an invalid form.
UNPROCESSABLE_STATUS = 422

Breadcrumb = dict[str, str]
Result = TypeVar("Result")
PageView = Callable[..., HttpResponseBase]


def page_view(guard: Guard) -> Callable[[PageView], PageView]:
    """Decorate a view that only shows something (GET)."""
    return _decorate_with(guard, "GET")


def form_view(guard: Guard) -> Callable[[PageView], PageView]:
    """Decorate a view that shows a form or a question and takes the answer (GET and POST)."""
    return _decorate_with(guard, "GET", "POST")


def action_view(guard: Guard) -> Callable[[PageView], PageView]:
    """Decorate a view that acts without a question (POST)."""
    return _decorate_with(guard, "POST")


def _decorate_with(guard: Guard, *methods: str) -> Callable[[PageView], PageView]:
    def decorate_view(view: PageView) -> PageView:
        return require_http_methods(methods)(never_cache(guard(view)))

    return decorate_view


def is_fragment_request(request: HttpRequest) -> bool:
    """Whether htmx asks for a fragment; a page restored from the browser history is rendered whole."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.history_restore_request  # type: ignore[union-attr]  # the middleware sets it


def render_list(
    request: HttpRequest, *, page_template: str, fragment_template: str, context: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """Render a list: the page, or for htmx the fragment alone, with Vary headers that keep the two apart in caches."""
    template = fragment_template if is_fragment_request(request) else page_template
    response = render(request, template, dict(context), status=status)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


def render_filtered_list(
    request: HttpRequest,
    page_template: str,
    fragment_template: str,
    *,
    form: forms.Form,
    query: Callable[..., QuerySet[Any] | Sequence[Any]],
    build_rows: Callable[[list[Any]], Sequence[Any]],
    **context: Any,
) -> HttpResponse:
    """Render a list whose reader filters it: `query` gets the filters that are set and returns all rows.

    `build_rows` presents the rows of one page; `context` holds what else the templates need, such as `columns`.
    """
    filters = read_filters(form)
    page = get_page(request, query(**filters))
    context |= {"form": form, "page": page, "rows": build_rows(list(page)), "is_filtered": bool(filters)}
    return render_list(request, page_template=page_template, fragment_template=fragment_template, context=context)


def read_filters(form: forms.Form) -> dict[str, Any]:
    """Return the filters that are set; an invalid one filters nothing, and its field shows the problem."""
    form.is_valid()
    return {name: value for name, value in form.cleaned_data.items() if value}


def build_columns(*labels: str, numbers: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the headers of a table; `numbers` are the labels of numeric columns, and "Actions" is not shown."""
    return [
        {"label": label}
        | ({"is_number": True} if label in numbers else {})
        | ({"is_hidden_label": True} if label == "Actions" else {})
        for label in labels
    ]


class SizedPage(Page[Any]):
    """A page of a list whose reader chooses the page size; the pager offers `sizes`."""

    sizes = PAGE_SIZES


class _SizedPaginator(_Paginator):
    def _get_page(self, *args: Any, **kwargs: Any) -> SizedPage:
        return SizedPage(*args, **kwargs)


def get_page(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int | None = None) -> Page[Any]:
    """Return the page of rows that the request names; an invalid number becomes the first or the last page.

    Without `size` the request chooses the page size too.
    """
    number = request.GET.get("page")
    if size is not None:
        return Paginator(rows, size).get_page(number)
    return _SizedPaginator(rows, get_page_size(request)).get_page(number)


def get_page_size(request: HttpRequest) -> int:
    """Return the page size that the request chooses; one that is not in PAGE_SIZES becomes PAGE_SIZE."""
    sizes = {str(page_size): page_size for page_size in PAGE_SIZES}
    return sizes.get(request.GET.get("size", ""), PAGE_SIZE)


def render_confirmation(
    request: HttpRequest,
    *,
    title: str,
    text: str,
    label: str,
    cancel_url: str,
    losses: Iterable[str] = (),
    effect: Iterable[str] | None = None,
    kind: str = "danger",
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Render a confirmation as a dialog (htmx) or a page; confirming posts to the same URL.

    `context` is what else components/modal.html and the page around it need, such as `hidden` and `breadcrumbs`.
    """
    context |= {
        "title": title,
        "text": text,
        "losses": list(losses),
        "effect": None if effect is None else list(effect),
        "action": request.get_full_path(),
        "label": label,
        "kind": kind,
        "cancel_url": cancel_url,
    }
    return render_list(
        request,
        page_template="confirmation.html",
        fragment_template="components/modal.html",
        context=context,
        status=status,
    )


def ask_and_act(
    request: HttpRequest,
    act: Callable[..., Result],
    respond: Callable[[Result], HttpResponse],
    *,
    losses: Callable[[], Iterable[str]] = tuple,
    effect: Callable[[], Iterable[str]] | None = None,
    **question: Any,
) -> HttpResponse:
    """Ask for a confirmation (GET), or call `act` with `by` and `channel` and `respond` with its result (POST).

    `question` is that of `render_confirmation`; `losses` and `effect` are computed only for it.
    """
    if request.method == "POST":
        return respond(act(by=get_actor(request), channel=CHANNEL))
    return render_confirmation(request, losses=losses(), effect=effect and effect(), **question)


def render_secret(request: HttpRequest, *, label: str, **context: Any) -> HttpResponse:
    """Render the page of a new secret, which is shown once; `context` is the rest of that of people/secret.html."""
    return render(request, "people/secret.html", {**context, "secret_label": label})


@dataclass(frozen=True, slots=True)
class Section:
    """A list and the pages below it: its label, its route, and the labels above it in the breadcrumbs."""

    label: str
    route: str
    parents: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The URL of the list."""
        return reverse(self.route)

    def breadcrumbs(self, *items: str | tuple[str, str]) -> list[Breadcrumb]:
        """Return the breadcrumbs of the list, or of a page below it; an item is a label, or a label and its URL."""
        pairs = [(self.label, self.url if items else "")]
        pairs += [item if isinstance(item, tuple) else (item, "") for item in items]
        links = [{"label": label, "url": url} if url else {"label": label} for label, url in pairs]
        return [*({"label": label} for label in self.parents), *links]


def check_permissions(
    request: HttpRequest, **permissions: Requirement | tuple[Requirement, ResourceRef | None]
) -> dict[str, bool]:
    """Return for each name whether the caller meets its requirement, on the platform or the resource beside it.

    All are decided in one batch.
    """
    actor = get_actor(request)
    pairs = [value if isinstance(value, tuple) else (value, None) for value in permissions.values()]
    decisions = authorizer.answer_many(
        requests=[(actor, AccessRequest(requirement, resource)) for requirement, resource in pairs]
    )
    return {name: decision.is_allowed for name, decision in zip(permissions, decisions, strict=True)}


def get_post_data(request: HttpRequest) -> QueryDict | None:
    """Return the posted data, None for any other method."""
    return request.POST if request.method == "POST" else None


def redirect_with_message(request: HttpRequest, message: str, to: str, *arguments: str) -> HttpResponse:
    """Redirect to a route or URL, whose page shows the message that something succeeded."""
    messages.success(request, message)
    return redirect(to, *arguments)


def build_absolute_link(request: HttpRequest, route: str, **query: str) -> str:
    """Return the absolute URL of a page with a query, such as one that holds a secret."""
    return request.build_absolute_uri(f"{reverse(route)}?{urlencode(query)}")
