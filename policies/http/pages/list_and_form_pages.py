"""What pages have in common: lists of which htmx gets the inside alone, questions before something is done, and forms
with the problems that a service found beside the fields they are about.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from policies.engine.errors import Problem
from policies.engine.requirements import Requirement
from policies.errors import Conflict, Invalid, NotFound, PolicyAppError, Stale
from policies.http.guard import get_actor
from policies.http.pages.people_picker import PeoplePicker
from policies.pdp import authorizer
from policies.pdp.authorizer import AccessRequest, ResourceRef
from policies.writes.unit_of_work import fingerprint

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator

#: What the record of changes calls this door.
CHANNEL = "pages"

PAGE_SIZE = 25
#: How many rows a page may show by choice (rules/datahub.md e).
PAGE_SIZES = (10, PAGE_SIZE, 50, 100)

#: What an answer to a form with mistakes is.
UNPROCESSABLE_STATUS = 422

Breadcrumb = dict[str, str]
Result = TypeVar("Result")


def is_fragment_request(request: HttpRequest) -> bool:
    """Whether htmx asks for a part; a page restored from the history is a whole one although htmx asks for it."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.history_restore_request  # type: ignore[union-attr]  # the middleware sets it


def render_list(
    request: HttpRequest, *, page_template: str, fragment_template: str, context: Mapping[str, Any]
) -> HttpResponse:
    """Answer a list: the page, or for htmx the list alone; caches keep the two apart."""
    response = render(request, fragment_template if is_fragment_request(request) else page_template, dict(context))
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


class SizedPage(Page[Any]):
    """A page of a list whose reader chooses how long a page is; the pager offers these sizes."""

    sizes = PAGE_SIZES


class _SizedPaginator(_Paginator):
    def _get_page(self, *args: Any, **kwargs: Any) -> SizedPage:
        return SizedPage(*args, **kwargs)


def get_page(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int | None = None) -> Page[Any]:
    """Return the page of rows that the request names; one that is not there becomes one that is.

    The request chooses the size too, unless it is given; a size that is not on offer becomes the usual one.
    """
    number = request.GET.get("page")
    if size is not None:
        return Paginator(rows, size).get_page(number)
    chosen_size = {str(page_size): page_size for page_size in PAGE_SIZES}.get(request.GET.get("size", ""), PAGE_SIZE)
    return _SizedPaginator(rows, chosen_size).get_page(number)


def render_confirmation(
    request: HttpRequest,
    *,
    title: str,
    text: str,
    label: str,
    cancel_url: str,
    losses: Iterable[str] = (),
    kind: str = "danger",
) -> HttpResponse:
    """Answer the question before something is done, as a dialog or a page; the answer is posted to the same address."""
    context = {
        "title": title,
        "text": text,
        "losses": list(losses),
        "action": request.get_full_path(),
        "label": label,
        "kind": kind,
        "cancel_url": cancel_url,
    }
    return render_list(
        request, page_template="confirmation.html", fragment_template="components/modal.html", context=context
    )


def settings_breadcrumbs(section: str, *items: tuple[str, str]) -> list[Breadcrumb]:
    """Return the breadcrumbs of a page under Settings; each item is a label and an address, '' for the page."""
    breadcrumbs: list[Breadcrumb] = [{"label": "Settings"}, *([{"label": section}] if section else [])]
    return breadcrumbs + [{"label": label, "url": url} if url else {"label": label} for label, url in items]


def check_permissions(request: HttpRequest, **permissions: tuple[Requirement, ResourceRef | None]) -> dict[str, bool]:
    """Return for each name whether the caller meets its requirement; all are asked in one go."""
    actor = get_actor(request)
    access_requests = [(actor, AccessRequest(requirement, resource)) for requirement, resource in permissions.values()]
    return {
        name: decision.is_allowed
        for name, decision in zip(permissions, authorizer.answer_many(requests=access_requests), strict=True)
    }


@dataclass(slots=True)
class FormPage:
    """One form on a page of its own: fields, pickers, what the button says, and where "Cancel" goes.

    `edit_conflict` is what `naming` found out about somebody else's change. `impact` tells what saving would change, of
    what is chosen in the pickers: drawn beside the button, also for who only asks (`is_preview`).
    """

    title: str
    label: str
    cancel_url: str
    breadcrumbs: list[Breadcrumb]
    form: forms.Form
    pickers: Sequence[PeoplePicker] = ()
    subtitle: str = ""
    conflict_field: str = ""
    error_field_map: Mapping[str, str] = field(default_factory=dict)
    edit_conflict: Mapping[str, Any] = field(default_factory=dict)
    impact: Callable[[], Mapping[str, Any]] | None = None
    status: int = 200

    def render(self, request: HttpRequest) -> HttpResponse:
        """Answer the form as it stands, with everything that was typed."""
        context: dict[str, Any] = {"page": self}
        if self.impact is not None:
            context["means"] = self.impact()
            if self.is_preview(request) and is_fragment_request(request):
                return render(request, "people/_means.html", context)
        context |= {"breadcrumbs": self.breadcrumbs, "pickers": [picker.build_context() for picker in self.pickers]}
        return render(request, "people/form.html", context, status=self.status)

    def is_preview(self, request: HttpRequest) -> bool:
        """Whether the form was posted to see what saving would mean, and not to save."""
        return self.impact is not None and request.POST.get("go") == "look"

    def save_or_report(self, save: Callable[[dict[str, Any]], Result]) -> Result | None:
        """Return what saving the checked fields gives, or None when something is wrong and stands beside its field.

        `conflict_field` is the field that a Conflict is about, `error_field_map` gives pointers whose field has another
        name. Raises what a form cannot mend.
        """
        is_valid = self.form.is_valid()
        if not is_valid or not all(picker.is_sound for picker in self.pickers):
            self.status = UNPROCESSABLE_STATUS
            return None
        try:
            return save(self.form.cleaned_data)
        except PolicyAppError as refusal:
            self._add_refusal(refusal)
            return None

    def _add_refusal(self, refusal: PolicyAppError) -> None:
        self.status = UNPROCESSABLE_STATUS
        if isinstance(refusal, Invalid):
            self._add_problems(refusal.problems)
        elif isinstance(refusal, Conflict):
            self.form.add_error(
                self.conflict_field if self.conflict_field in self.form.fields else None, refusal.detail
            )
        elif isinstance(refusal, Stale | NotFound):
            self.status = refusal.status
            is_stale = isinstance(refusal, Stale)
            ending = "Saving again replaces what they wrote." if is_stale else "It was removed in the meantime."
            self.form.add_error(None, f"{refusal.detail} {ending} What you typed is shown below.")
        else:
            raise refusal

    def _add_problems(self, problems: Iterable[Problem]) -> None:
        problems_by_picker: dict[str, list[Problem]] = {picker.name: [] for picker in self.pickers}
        for problem in problems:
            pointer_field = problem.pointer.strip("/").split("/")[0]
            name = self.error_field_map.get(pointer_field, pointer_field)
            if name in problems_by_picker:
                problems_by_picker[name].append(problem)
            else:
                self.form.add_error(name if name in self.form.fields else None, problem.detail)
        for picker in self.pickers:
            picker.add_problems(problems_by_picker[picker.name])


def get_post_data(request: HttpRequest) -> QueryDict | None:
    """Return what a form posted, None for the first look at it."""
    return request.POST if request.method == "POST" else None


def build_initial_data(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a form about these facts begins with, and by which it is known that somebody else changed them."""
    return {} if facts is None else {**facts, "seen": fingerprint(facts)}


def update_fingerprint(form: forms.Form, facts: Mapping[str, Any] | None) -> None:
    """Let a refused form be made of the facts of now, so that saving it once more goes through."""
    if facts is not None:
        form.data = {**form.data.dict(), "seen": fingerprint(facts)}  # type: ignore[attr-defined]  # a QueryDict


def build_absolute_link(request: HttpRequest, route: str, **query: str) -> str:
    """Return the whole address, with this host, of a page and a query that holds a secret."""
    (name, value), *_ = query.items()
    return request.build_absolute_uri(f"{reverse(route)}?{name}={value}")
