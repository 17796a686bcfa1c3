"""The form that starts a report, built from the parameters of its kind, and the display of a run's parameters."""

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

from catalog.models import Report
from catalog.reports.pages.charts import CONCEALED_LABEL
from catalog.reports.pages.layout import SECTION, VIEW_GUARD, is_shown_in_place, render_refusal_in_place
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import result_reader
from catalog.reports.services import reports as service
from catalog.reports.spec import Parameter, ParameterType, ReportSpec
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.http.guard import get_actor
from policies.http.pages.list_and_form_pages import form_view

#: JSON pointer under which the service reports problems of parameters.
_PARAMETERS_POINTER = "/parameters/"


class StartForm(forms.Form):
    """One field for each parameter. The service validates the values, so every field accepts anything.

    JSON parameters are hidden: other pages send them, nobody types them.
    """

    def __init__(self, spec: ReportSpec, data: Any = None, initial: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, initial={name: _to_form_value(value) for name, value in (initial or {}).items()})
        self._spec = spec
        for parameter in spec.parameters:
            self.fields[parameter.name] = forms.Field(
                label=parameter.title, required=False, help_text=parameter.help, widget=_build_widget(parameter)
            )

    def add_refusal(self, refusal: Invalid | Conflict) -> HTTPStatus:
        """Add why the report was not started, and return the status of the page that says so."""
        if isinstance(refusal, Invalid):
            self.add_problems(refusal.problems)
            return HTTPStatus.UNPROCESSABLE_ENTITY
        self.add_error(None, refusal.detail)
        return HTTPStatus.CONFLICT

    def add_problems(self, problems: tuple[Problem, ...]) -> None:
        """Add the problems of the service to their fields; those of hidden or unknown fields to the form."""
        for problem in problems:
            name = problem.pointer.removeprefix(_PARAMETERS_POINTER).split("/")[0]
            is_visible = name in self.fields and not self.fields[name].widget.is_hidden
            self.add_error(name if is_visible else None, problem.detail)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """The hidden JSON parameters, each with its label and the names of the policies in it."""
        document_parameters = [
            parameter for parameter in self._spec.parameters if parameter.input is ParameterType.JSON
        ]
        return [
            {
                "label": parameter.title,
                "names": _list_policy_names(parameter.parse_texts([self[parameter.name].value() or ""])),
            }
            for parameter in document_parameters
        ]


@form_view(VIEW_GUARD)
def start_report(request: HttpRequest, kind: str) -> HttpResponse:
    """Page to start a report, filled with defaults, the parameters of an earlier run or the query string."""
    spec = KINDS.get(kind)
    if spec is None:
        raise NotFound(f"There is no kind of report {kind}.")
    status = HTTPStatus.OK
    if request.method == "POST":
        form = StartForm(spec, request.POST)
        form.is_valid()
        values = {
            parameter.name: parameter.parse_texts(request.POST.getlist(parameter.name)) for parameter in spec.parameters
        }
        try:
            report = service.request_report(kind=kind, parameters=values, by=get_actor(request))
        except (Invalid, Conflict) as refusal:
            if is_shown_in_place(request):
                return render_refusal_in_place(request, refusal)
            status = form.add_refusal(refusal)
        else:
            if not is_shown_in_place(request):
                messages.success(request, f"{spec.title} was started.")
            return redirect("report", id=report.pk)
    else:
        form = StartForm(spec, initial=_load_initial_values(request, spec))
    open_report = report_rows.list_reports(kind=kind).filter(status__in=Report.OPEN_STATUSES).first()
    context = {
        "kind": spec,
        "form": form,
        "running": {"url": reverse("report", args=[open_report.pk])} if open_report else None,
        "cancel_url": reverse("reports"),
        "breadcrumbs": SECTION.breadcrumbs(f"Start {spec.title}"),
    }
    return render(request, "reports/new.html", context, status=status)


def list_parameter_facts(spec: ReportSpec, run: Report, by: Actor) -> list[dict[str, Any]]:
    """Return the parameters of a run, as far as the viewer may view them, for the summary component."""
    visible_values = result_reader.read_parameters(spec=spec, run=run, by=by)
    return [
        _parameter_fact(parameter, run.parameters.get(parameter.name), visible_values.get(parameter.name))
        for parameter in spec.parameters
    ]


def _parameter_fact(parameter: Parameter, value: Any, visible_value: Any) -> dict[str, Any]:
    if parameter.input is ParameterType.JSON and visible_value is not None:
        return {"label": parameter.title, "value": _to_form_value(visible_value), "template": "reports/_document.html"}
    labels = dict(parameter.choices())
    lines = [labels.get(line, line) for line in _value_lines(visible_value)]
    return {"label": parameter.title, "lines": lines if visible_value == value else [*lines, CONCEALED_LABEL]}


def _value_lines(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    if isinstance(value, bool):
        return ["Yes" if value else "No"]
    return [] if value in (None, "") else [str(value)]


def _load_initial_values(request: HttpRequest, spec: ReportSpec) -> dict[str, Any]:
    values = {parameter.name: parameter.default for parameter in spec.parameters}
    try:
        earlier_report = report_rows.get_report(id=UUID(request.GET.get("again", "")))
    except (ValueError, NotFound):
        earlier_report = None
    if earlier_report is not None and earlier_report.kind == spec.name:
        values |= result_reader.read_parameters(spec=spec, run=earlier_report, by=get_actor(request))
    query_parameters = [parameter for parameter in spec.parameters if parameter.name in request.GET]
    return values | {
        parameter.name: parameter.parse_texts(request.GET.getlist(parameter.name)) for parameter in query_parameters
    }


def _to_form_value(value: Any) -> Any:
    """Return a value for a form: a document as JSON text."""
    is_document = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value))
    return json.dumps(value, ensure_ascii=False, indent=2) if is_document else value


def _list_policy_names(value: Any) -> list[str]:
    """Return the names of the policies in a policy file; '' for one without a name."""
    entries = value if isinstance(value, list) else []
    documents = [item.get("document", item) for item in entries if isinstance(item, dict)]
    return [str(item.get("displayName") or item.get("name") or "") for item in documents if isinstance(item, dict)]


def _build_widget(parameter: Parameter) -> forms.Widget:
    choices = list(parameter.choices().items())
    match parameter.input:
        case ParameterType.CHOICES:
            return forms.CheckboxSelectMultiple(choices=choices)
        case ParameterType.CHOICE:
            return forms.Select(choices=choices if parameter.is_required else [("", "—"), *choices])
        case ParameterType.NUMBER:
            return forms.NumberInput(attrs={"min": parameter.minimum, "max": parameter.maximum})
        case ParameterType.TEXT | ParameterType.FLAG | ParameterType.DATE | ParameterType.TEXTS | ParameterType.JSON:
            return _WIDGETS[parameter.input]()


class _LinesTextarea(forms.Textarea):
    """A textarea for a list of texts, one a line."""

    def format_value(self, value: Any) -> str | None:
        """Return the texts joined by newlines; a text is returned as it is."""
        return "\n".join(value) if isinstance(value, list) else super().format_value(value)


_WIDGETS: Mapping[ParameterType, Callable[[], forms.Widget]] = {
    ParameterType.TEXT: lambda: forms.TextInput(attrs={"autocomplete": "off"}),
    ParameterType.FLAG: forms.CheckboxInput,
    ParameterType.DATE: lambda: forms.DateInput(attrs={"type": "date"}),
    ParameterType.TEXTS: lambda: _LinesTextarea(attrs={"rows": 5, "spellcheck": "false"}),
    ParameterType.JSON: forms.HiddenInput,
}
