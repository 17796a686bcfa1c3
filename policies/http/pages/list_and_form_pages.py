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
from policies.http.guard import actor_of
from policies.http.pages.people_picker import Picker
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked
from policies.writes.unit_of_work import fingerprint

if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator

#: What the record of changes calls this door.
DOOR = "pages"

PAGE_SIZE = 25
#: How many rows a page may show by choice (rules/datahub.md e).
SIZES = (10, PAGE_SIZE, 50, 100)

#: What an answer to a form with mistakes is.
UNPROCESSABLE = 422

Crumb = dict[str, str]
Result = TypeVar("Result")


def wants_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a part; a page restored from the history is a whole one although htmx asks for it."""
    htmx = getattr(request, "htmx", None)
    return bool(htmx) and not htmx.history_restore_request  # type: ignore[union-attr]  # the middleware sets it


def listed(request: HttpRequest, *, whole: str, part: str, context: Mapping[str, Any]) -> HttpResponse:
    """Answer a list: the page, or for htmx the list alone; caches keep the two apart."""
    response = render(request, part if wants_fragment(request) else whole, dict(context))
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


class SizedPage(Page[Any]):
    """A page of a list whose reader chooses how long a page is; the pager offers these sizes."""

    sizes = SIZES


class _SizedPaginator(_Paginator):
    def _get_page(self, *args: Any, **kwargs: Any) -> SizedPage:
        return SizedPage(*args, **kwargs)


def page_of(request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int | None = None) -> Page[Any]:
    """Return the page of rows that the request names; one that is not there becomes one that is.

    The request chooses the size too, unless it is given; a size that is not on offer becomes the usual one.
    """
    number = request.GET.get("page")
    if size is not None:
        return Paginator(rows, size).get_page(number)
    chosen = {str(offered): offered for offered in SIZES}.get(request.GET.get("size", ""), PAGE_SIZE)
    return _SizedPaginator(rows, chosen).get_page(number)


def ask(
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
    return listed(request, whole="confirmation.html", part="components/modal.html", context=context)


def crumbs(section: str, *items: tuple[str, str]) -> list[Crumb]:
    """Return the breadcrumbs of a page under Settings; each item is a label and an address, '' for the page."""
    found: list[Crumb] = [{"label": "Settings"}, *([{"label": section}] if section else [])]
    return found + [{"label": label, "url": url} if url else {"label": label} for label, url in items]


def may(request: HttpRequest, **wanted: tuple[Requirement, Asked | None]) -> dict[str, bool]:
    """Return for each name whether the caller meets its requirement; all are asked in one go."""
    actor = actor_of(request)
    asks = [(actor, Ask(requirement, asked)) for requirement, asked in wanted.values()]
    return {name: decision.is_allowed for name, decision in zip(wanted, authorizer.answer_many(asks=asks), strict=True)}


@dataclass(slots=True)
class FormPage:
    """One form on a page of its own: fields, pickers, what the button says, and where "Cancel" goes.

    `overtaken` is what `naming` found out about somebody else's change. `means` tells what saving would change, of
    what is chosen in the pickers: drawn beside the button, also for who only asks (`is_look`).
    """

    title: str
    label: str
    cancel_url: str
    breadcrumbs: list[Crumb]
    form: forms.Form
    pickers: Sequence[Picker] = ()
    subtitle: str = ""
    conflict: str = ""
    shows: Mapping[str, str] = field(default_factory=dict)
    overtaken: Mapping[str, Any] = field(default_factory=dict)
    means: Callable[[], Mapping[str, Any]] | None = None
    status: int = 200

    def draw(self, request: HttpRequest) -> HttpResponse:
        """Answer the form as it stands, with everything that was typed."""
        context: dict[str, Any] = {"page": self}
        if self.means is not None:
            context["means"] = self.means()
            if self.is_look(request) and wants_fragment(request):
                return render(request, "people/_means.html", context)
        context |= {"breadcrumbs": self.breadcrumbs, "pickers": [one.drawn() for one in self.pickers]}
        return render(request, "people/form.html", context, status=self.status)

    def is_look(self, request: HttpRequest) -> bool:
        """Whether the form was posted to see what saving would mean, and not to save."""
        return self.means is not None and request.POST.get("go") == "look"

    def try_to(self, save: Callable[[dict[str, Any]], Result]) -> Result | None:
        """Return what saving the checked fields gives, or None when something is wrong and stands beside its field.

        `conflict` is the field that a Conflict is about, `shows` gives pointers whose field has another name. Raises
        what a form cannot mend.
        """
        is_valid = self.form.is_valid()
        if not is_valid or not all(picker.is_sound for picker in self.pickers):
            self.status = UNPROCESSABLE
            return None
        try:
            return save(self.form.cleaned_data)
        except PolicyAppError as refusal:
            self._note(refusal)
            return None

    def _note(self, refusal: PolicyAppError) -> None:
        self.status = UNPROCESSABLE
        if isinstance(refusal, Invalid):
            self._note_problems(refusal.problems)
        elif isinstance(refusal, Conflict):
            self.form.add_error(self.conflict if self.conflict in self.form.fields else None, refusal.detail)
        elif isinstance(refusal, Stale | NotFound):
            self.status = refusal.status
            is_stale = isinstance(refusal, Stale)
            ending = "Saving again replaces what they wrote." if is_stale else "It was removed in the meantime."
            self.form.add_error(None, f"{refusal.detail} {ending} What you typed is shown below.")
        else:
            raise refusal

    def _note_problems(self, problems: Iterable[Problem]) -> None:
        for_pickers: dict[str, list[Problem]] = {picker.name: [] for picker in self.pickers}
        for problem in problems:
            place = problem.pointer.strip("/").split("/")[0]
            name = self.shows.get(place, place)
            if name in for_pickers:
                for_pickers[name].append(problem)
            else:
                self.form.add_error(name if name in self.form.fields else None, problem.detail)
        for picker in self.pickers:
            picker.note(for_pickers[picker.name])


def posted(request: HttpRequest) -> QueryDict | None:
    """Return what a form posted, None for the first look at it."""
    return request.POST if request.method == "POST" else None


def initial(facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what a form about these facts begins with, and by which it is known that somebody else changed them."""
    return {} if facts is None else {**facts, "seen": fingerprint(facts)}


def renew(form: forms.Form, facts: Mapping[str, Any] | None) -> None:
    """Let a refused form be made of the facts of now, so that saving it once more goes through."""
    if facts is not None:
        form.data = {**form.data.dict(), "seen": fingerprint(facts)}  # type: ignore[attr-defined]  # a QueryDict


def link_to(request: HttpRequest, route: str, **query: str) -> str:
    """Return the whole address, with this host, of a page and a query that holds a secret."""
    (name, value), *_ = query.items()
    return request.build_absolute_uri(f"{reverse(route)}?{name}={value}")
