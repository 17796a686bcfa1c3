"""A page with one form that runs itself: it saves what was posted, or shows it again with problems at their fields."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial
from typing import Any, TypeVar

from django import forms
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from policies.engine.errors import Problem
from policies.errors import Conflict, Forbidden, Invalid, NotFound, PolicyAppError, Stale
from policies.http.guard import get_actor
from policies.http.pages.form_drafts import FormDraft, describe_errors, restore_errors
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    Section,
    get_post_data,
    is_fragment_request,
)
from policies.http.pages.picker import FormPicker

Result = TypeVar("Result")


@dataclass(slots=True)
class FormPage:
    """One form on a page of its own: fields, pickers, the label of the button, and the target of "Cancel".

    The page lies below a section; its last breadcrumb is `crumb`, or the title.
    The fields and pickers have the names of the parameters of the service that saves them. `conflict_field` is the
    field that a Conflict is about; `error_field_map` maps pointers to fields of another name. `edit_conflict` describes
    a concurrent change by somebody else, for people/_overtaken.html. `effect` finds what saving the current choices
    would give and take, in sentences (none while they cannot be saved); it is drawn above the button, and alone for a
    preview (`is_preview`). With `shows_forbidden` the lack of a privilege for some of the choices stands above the
    form, which keeps all input.
    `are_pickers_first` puts the pickers above the fields. With `keeps_draft` what somebody types is kept, and a refused
    form is shown by the address of its draft; no such form asks for a password.
    """

    request: HttpRequest
    form_class: InitVar[type[forms.Form]]
    title: str = ""
    label: str = ""
    section: Section | None = None
    crumb: str = ""
    cancel_url: str = ""
    initial: InitVar[dict[str, Any] | None] = None
    pickers: Sequence[FormPicker] = ()
    subtitle: str = ""
    conflict_field: str = ""
    error_field_map: Mapping[str, str] = field(default_factory=dict)
    edit_conflict: Mapping[str, Any] = field(default_factory=dict)
    effect: Callable[[], Sequence[str]] | None = None
    template: str = "people/form.html"
    are_pickers_first: bool = False
    shows_forbidden: bool = False
    keeps_draft: bool = False
    status: int = 200
    form: forms.Form = field(init=False)
    form_draft: FormDraft | None = field(init=False, default=None)

    def __post_init__(self, form_class: type[forms.Form], initial: dict[str, Any] | None) -> None:
        """Build the form, with what was posted or its draft; by default "Cancel" leads to the list of the section."""
        if self.keeps_draft:
            self.form_draft = FormDraft(self.request)
            refuse_secrets(form_class)
        data = get_post_data(self.request) if self.form_draft is None else self.form_draft.bound_data
        self.form = form_class(data, initial=initial)
        if self.form_draft is not None and self.form_draft.is_shown:
            restore_errors(self.form_draft, self.form, self.pickers)
        if self.section is not None:
            self.cancel_url = self.cancel_url or self.section.url

    def run(self, save: Callable[..., Result], respond: Callable[[Result], HttpResponse]) -> HttpResponse:
        """Show the form (GET), or save it and `respond` to the result; problems are shown with all input (POST).

        `save` gets the fields, the choices of the pickers, `by` and `channel`.
        """
        if self.request.method == "POST":
            result = self.save_or_report(partial(save, by=get_actor(self.request), channel=CHANNEL))
            if result is not None:
                return respond(result)
        return self.render()

    def render(self) -> HttpResponse:
        """Render the form in its current state, with all input; redirect to the draft of a refused one that is kept."""
        if self.form_draft is not None and self.request.method == "POST" and not self.is_preview:
            again = self.form_draft.answer_again(describe_errors(self.form, self.pickers))
            if again is not None:
                return again
        context: dict[str, Any] = {"page": self}
        if self.form_draft is not None:
            context["form_draft"] = self.form_draft.build_context()
        if self.effect is not None:
            context["effect"] = self.effect()
            if self.is_preview and is_fragment_request(self.request):
                return render(self.request, "components/form_effect.html", context)
        context |= {
            "form": self.form,
            "breadcrumbs": [] if self.section is None else self.section.breadcrumbs(self.crumb or self.title),
            "pickers": [picker.build_context() for picker in self.pickers],
        }
        return render(self.request, self.template, context, status=self.status)

    @property
    def shows_draft(self) -> bool:
        """Whether the form shows a draft."""
        return self.form_draft is not None and self.form_draft.is_shown

    @property
    def is_preview(self) -> bool:
        """Whether the form was posted to preview the effect of saving, not to save."""
        return self.effect is not None and self.request.POST.get("go") == "look"

    def save_or_report(self, save: Callable[..., Result]) -> Result | None:
        """Return the result of `save` with what was posted, None for a preview or with the problems at their fields.

        Raises the refusals that a form cannot correct (anything but Invalid, Conflict, Stale and NotFound).
        """
        for picker in self.pickers:
            picker.read(self.request.POST)
        if self.is_preview:
            return None
        # Each is asked, so that every problem is shown at once.
        if False in [self.form.is_valid(), *(picker.is_complete() for picker in self.pickers)]:
            self.status = UNPROCESSABLE_STATUS
            return None
        try:
            result = save(**self.form.cleaned_data, **{picker.name: picker.chosen_urns for picker in self.pickers})
        except PolicyAppError as refusal:
            self._add_refusal(refusal)
            return None
        if self.form_draft is not None:
            self.form_draft.delete()
        return result

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
        elif isinstance(refusal, Forbidden) and self.shows_forbidden:
            self.status = refusal.status
            self.form.add_error(None, refusal.detail)
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


def refuse_secrets(form_class: type[forms.Form]) -> None:
    """Raise ImproperlyConfigured for a form that asks for a password or a file: these are never kept in drafts."""
    secrets = [
        name
        for name, form_field in form_class.base_fields.items()
        if isinstance(form_field.widget, forms.PasswordInput | forms.FileInput)
    ]
    if secrets:
        raise ImproperlyConfigured(f"{form_class.__name__} cannot keep drafts: {', '.join(secrets)}.")
