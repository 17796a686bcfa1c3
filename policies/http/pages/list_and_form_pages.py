"""Shared parts of pages: lists with a fragment for htmx, confirmations, and forms with problems beside their fields."""

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

#: Name of this interface in change records.
CHANNEL = "pages"

PAGE_SIZE = 25
#: Page sizes that a reader can choose (rules/datahub.md e).
PAGE_SIZES = (10, PAGE_SIZE, 50, 100)

#: Status of the answer to an invalid form.
UNPROCESSABLE_STATUS = 422

Breadcrumb = dict[str, str]
Result = TypeVar("Result")


def is_fragment_request(request: HttpRequest) -> bool:
    """Whether htmx asks for a fragment; a page restored from the browser history is rendered whole."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.history_restore_request  # type: ignore[union-attr]  # the middleware sets it


def render_list(
    request: HttpRequest, *, page_template: str, fragment_template: str, context: Mapping[str, Any]
) -> HttpResponse:
    """Render a list: the page, or for htmx the fragment alone, with Vary headers that keep the two apart in caches."""
    response = render(request, fragment_template if is_fragment_request(request) else page_template, dict(context))
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


class SizedPage(Page[Any]):
    """A page of a list whose reader chooses the page size; the pager offers `sizes`."""

    sizes = PAGE_SIZES


class _SizedPaginator(_Paginator):
    def _get_page(self, *args: Any, **kwargs: Any) -> SizedPage:
        return SizedPage(*args, **kwargs)


def get_page(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int | None = None) -> Page[Any]:
    """Return the page of rows that the request names; an invalid number becomes the first or the last page.

    Without `size` the request chooses the page size too; a size not in PAGE_SIZES becomes PAGE_SIZE.
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
    """Render a confirmation as a dialog (htmx) or a page; confirming posts to the same URL."""
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
    """Return the breadcrumbs of a page under Settings; each item is a label and a URL, '' for the current page."""
    breadcrumbs: list[Breadcrumb] = [{"label": "Settings"}, *([{"label": section}] if section else [])]
    return breadcrumbs + [{"label": label, "url": url} if url else {"label": label} for label, url in items]


def check_permissions(request: HttpRequest, **permissions: tuple[Requirement, ResourceRef | None]) -> dict[str, bool]:
    """Return for each name whether the caller meets its requirement; all are decided in one batch."""
    actor = get_actor(request)
    access_requests = [(actor, AccessRequest(requirement, resource)) for requirement, resource in permissions.values()]
    return {
        name: decision.is_allowed
        for name, decision in zip(permissions, authorizer.answer_many(requests=access_requests), strict=True)
    }


@dataclass(slots=True)
class FormPage:
    """One form on a page of its own: fields, pickers, the label of the button, and the target of "Cancel".

    `edit_conflict` describes a concurrent change by somebody else, for people/_overtaken.html. `impact` computes the
    effect of saving with the current choices; it is drawn beside the button, and alone for a preview (`is_preview`).
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
        """Render the form in its current state, with all input."""
        context: dict[str, Any] = {"page": self}
        if self.impact is not None:
            context["means"] = self.impact()
            if self.is_preview(request) and is_fragment_request(request):
                return render(request, "people/_means.html", context)
        context |= {"breadcrumbs": self.breadcrumbs, "pickers": [picker.build_context() for picker in self.pickers]}
        return render(request, "people/form.html", context, status=self.status)

    def is_preview(self, request: HttpRequest) -> bool:
        """Whether the form was posted to preview the effect of saving, not to save."""
        return self.impact is not None and request.POST.get("go") == "look"

    def save_or_report(self, save: Callable[[dict[str, Any]], Result]) -> Result | None:
        """Return the result of `save` with the cleaned fields, or None with the problems added to their fields.

        `conflict_field` is the field that a Conflict is about; `error_field_map` maps pointers to fields of another
        name. Raises the refusals that a form cannot correct (anything but Invalid, Conflict, Stale and NotFound).
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
    """Return the posted data, None for any other method."""
    return request.POST if request.method == "POST" else None


def build_initial_data(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the initial data of a form about `facts`; `seen` is their fingerprint, to detect concurrent changes."""
    return {} if facts is None else {**facts, "seen": fingerprint(facts)}


def update_fingerprint(form: forms.Form, facts: Mapping[str, Any] | None) -> None:
    """Give a refused form the fingerprint of the current facts, so that saving it again succeeds."""
    if facts is not None:
        form.data = {**form.data.dict(), "seen": fingerprint(facts)}  # type: ignore[attr-defined]  # a QueryDict


def build_absolute_link(request: HttpRequest, route: str, **query: str) -> str:
    """Return the absolute URL of a page with one query parameter that holds a secret."""
    (name, value), *_ = query.items()
    return request.build_absolute_uri(f"{reverse(route)}?{name}={value}")
