"""What is asked of a report: the form that starts one, made of the parameters of its kind, and what was asked."""

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.models import Report
from catalog.reports.pages import layout
from catalog.reports.pages.charts import CONCEALED
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import result_reader
from catalog.reports.services import reports as service
from catalog.reports.spec import Input, Kind, Parameter
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.http.guard import actor_of

#: Where the service says the parameters are.
_PLACE = "/parameters/"


class StartForm(forms.Form):
    """One field for each parameter. What is wrong with them is the service's to say, so every field takes anything.

    Documents are hidden: pages that have them send them here, nobody writes them.
    """

    def __init__(self, kind: Kind, data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={name: _typed(value) for name, value in (initial or {}).items()})
        self._kind = kind
        for parameter in kind.parameters:
            self.fields[parameter.name] = forms.Field(
                label=parameter.title, required=False, help_text=parameter.help, widget=_widget(parameter)
            )

    def note(self, problems: tuple[Problem, ...]) -> None:
        """Place the problems that the service found, those of no parameter above all fields."""
        for problem in problems:
            name = problem.pointer.removeprefix(_PLACE).split("/")[0]
            is_shown = name in self.fields and not self.fields[name].widget.is_hidden
            self.add_error(name if is_shown else None, problem.detail)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The hidden documents, each with its label and what the policies in it are called."""
        hidden = [one for one in self._kind.parameters if one.input is Input.JSON]
        return [
            {"label": one.title, "names": _name_entries(one.read([self[one.name].value() or ""]))} for one in hidden
        ]


@require_http_methods(["GET", "POST"])
@never_cache
@SEES
def new(request: HttpRequest, kind: str) -> HttpResponse:
    """The form that starts a report, filled with defaults, with what an earlier run was asked, or by the address."""
    found = KINDS.get(kind)
    if found is None:
        raise NotFound(f"There is no kind of report {kind}.")
    status = HTTPStatus.OK
    if request.method == "POST":
        form = StartForm(found, request.POST)
        form.is_valid()
        given = {one.name: one.read(request.POST.getlist(one.name)) for one in found.parameters}
        try:
            made = service.request(kind=kind, parameters=given, by=actor_of(request))
        except Invalid as refusal:
            form.note(refusal.problems)
            status = HTTPStatus.UNPROCESSABLE_ENTITY
        except Conflict as refusal:
            form.add_error(None, refusal.detail)
            status = HTTPStatus.CONFLICT
        else:
            messages.success(request, f"{found.title} was started.")
            return redirect("report", id=made.pk)
    else:
        form = StartForm(found, initial=_beginning(request, found))
    last = report_rows.reports(kind=kind).filter(status__in=Report.OPEN).first()
    context = {
        "kind": found,
        "form": form,
        "running": {"url": reverse("report", args=[last.pk])} if last else None,
        "cancel_url": reverse("reports"),
        "breadcrumbs": layout.crumbs((f"Start {found.title}", "")),
    }
    return render(request, "reports/new.html", context, status=status)


def facts(kind: Kind, run: Report, by: Actor) -> list[dict[str, Any]]:
    """Return what a run was asked, as far as the reader may view it, for the summary component."""
    told = result_reader.parameters(kind=kind, run=run, by=by)
    return [_fact(one, run.parameters.get(one.name), told.get(one.name)) for one in kind.parameters]


def _fact(parameter: Parameter, said: Any, told: Any) -> dict[str, Any]:
    if parameter.input is Input.JSON and told is not None:
        return {"label": parameter.title, "value": _typed(told), "template": "reports/_document.html"}
    labels = dict(parameter.choices())
    lines = [labels.get(line, line) for line in _lines(told)]
    return {"label": parameter.title, "lines": lines if told == said else [*lines, CONCEALED]}


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(one) for one in value]
    if isinstance(value, bool):
        return ["Yes" if value else "No"]
    return [] if value in (None, "") else [str(value)]


def _beginning(request: HttpRequest, kind: Kind) -> dict[str, Any]:
    found = {one.name: one.default for one in kind.parameters}
    try:
        earlier = report_rows.report(id=UUID(request.GET.get("again", "")))
    except (ValueError, NotFound):
        earlier = None
    if earlier is not None and earlier.kind == kind.name:
        found |= result_reader.parameters(kind=kind, run=earlier, by=actor_of(request))
    named = [one for one in kind.parameters if one.name in request.GET]
    return found | {one.name: one.read(request.GET.getlist(one.name)) for one in named}


def _typed(value: Any) -> Any:
    """Return a value as a form shows it: a document as text."""
    is_document = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))
    return json.dumps(value, ensure_ascii=False, indent=2) if is_document else value


def _name_entries(value: Any) -> list[str]:
    """Return what the policies of a file of policies are called; '' stands for one without a name."""
    entries = value if isinstance(value, list) else []
    documents = [one.get("document", one) for one in entries if isinstance(one, dict)]
    return [str(one.get("displayName") or one.get("name") or "") for one in documents if isinstance(one, dict)]


def _widget(parameter: Parameter) -> forms.Widget:
    choices = list(parameter.choices().items())
    match parameter.input:
        case Input.CHOICES:
            return forms.CheckboxSelectMultiple(choices=choices)
        case Input.CHOICE:
            return forms.Select(choices=choices if parameter.is_required else [("", "—"), *choices])
        case Input.NUMBER:
            return forms.NumberInput(attrs={"min": parameter.minimum, "max": parameter.maximum})
        case Input.TEXT | Input.FLAG | Input.DATE | Input.TEXTS | Input.JSON:
            return _WIDGETS[parameter.input]()


class _Lines(forms.Textarea):
    """A list of texts, one a line."""

    def format_value(self, value: Any) -> str | None:
        """Return the texts one under another; what was typed stays as it was."""
        return "\n".join(value) if isinstance(value, list) else super().format_value(value)


_WIDGETS: Mapping[Input, Callable[[], forms.Widget]] = {
    Input.TEXT: lambda: forms.TextInput(attrs={"autocomplete": "off"}),
    Input.FLAG: forms.CheckboxInput,
    Input.DATE: lambda: forms.DateInput(attrs={"type": "date"}),
    Input.TEXTS: lambda: _Lines(attrs={"rows": 5, "spellcheck": "false"}),
    Input.JSON: forms.HiddenInput,
}
