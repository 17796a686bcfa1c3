"""Questions about a finished run: people of an entity, entities of a person, changes since an earlier run."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from catalog import urns
from catalog.models import Report
from catalog.reports import registry
from catalog.reports.pages import cells, runs
from catalog.reports.pages.layout import VIEW_GUARD
from catalog.reports.queries import report_rows
from catalog.reports.run import access_answers, result_reader
from catalog.reports.run.access_answers import AccessQuestion
from policies.engine import families
from policies.engine.wording import word_time
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import page_view


class AccessForm(forms.Form):
    """The question: its kind, a counted privilege, a URN, and for changes an earlier run."""

    ask = forms.ChoiceField(
        label="Question",
        required=False,
        choices=[
            ("who", "Who could use it on an entity"),
            ("what", "What a person could use it on"),
            ("changed", "Who gained and lost it"),
        ],
    )
    privilege = forms.ChoiceField(label="Privilege", required=False)
    urn = forms.CharField(
        label="URN",
        max_length=urns.MAX_URN_BYTES,
        widget=forms.TextInput(attrs={"placeholder": "urn:li:…"}),
        help_text="For the first question of an entity, for the second of a user, for the third of a tag, domain, "
        "container, term, platform instance or owner.",
    )
    since = forms.ChoiceField(label="Since", required=False)

    def __init__(self, data: Any, run: Report, earlier_runs: Sequence[Report]) -> None:
        super().__init__(data if data.get("urn") else None, initial=data.dict())
        privilege_choices = [(name, families.display_privilege(name)) for name in run.parameters.get("privileges", ())]
        run_choices = [(str(earlier_run.pk), word_time(earlier_run.requested_at)) for earlier_run in earlier_runs]
        self.fields["privilege"].choices = privilege_choices  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["since"].choices = run_choices or [("", "No earlier run yet")]  # type: ignore[attr-defined]

    def clean_urn(self) -> str:
        """Return the URN, stripped. Raises ValidationError for an invalid one."""
        urn: str = self.cleaned_data["urn"].strip()
        problem = urns.find_problem(urn, "")
        if problem is not None:
            raise forms.ValidationError(problem.detail)
        return urn

    def clean(self) -> dict[str, Any]:
        """Reject a question about changes for a URN that selects no part of the catalog, or without an earlier run."""
        values = self.cleaned_data
        if values.get("ask") == "changed" and "urn" in values:
            if urns.entity_type(values["urn"]) not in access_answers.FACETS:
                self.add_error("urn", "Name a tag, domain, container, term, platform instance or owner.")
            if not values.get("since"):
                self.add_error("since", "There is no earlier run to compare with yet.")
        return values


@page_view(VIEW_GUARD)
def show_access(request: HttpRequest, id: UUID) -> HttpResponse:
    """Page of questions about a finished run, which a worker answers; an htmx request gets only the answer."""
    run = report_rows.get_report(id=id)
    spec = registry.get_spec(run)
    if run.status != Report.Status.READY or not spec.keeps_snapshot:
        raise NotFound("This report cannot be asked.")
    earlier_runs = list(report_rows.list_earlier(run=run))
    form = AccessForm(request.GET, run, earlier_runs)
    context: dict[str, Any] = {"form": form, "access_url": reverse("report-access", args=[id])}
    if form.is_valid():
        context |= _answer_question(request, run, earlier_runs, form.cleaned_data)
    if not list_and_form_pages.is_fragment_request(request):
        context |= runs.build_run_context(request, run, tab="access")
    return list_and_form_pages.render_list(
        request, page_template="reports/access.html", fragment_template="reports/_access.html", context=context
    )


def _answer_question(
    request: HttpRequest, run: Report, earlier_runs: Sequence[Report], query: Mapping[str, Any]
) -> dict[str, Any]:
    since = next((str(item.pk) for item in earlier_runs if str(item.pk) == query["since"]), "")
    question = AccessQuestion(str(run.pk), since, query["ask"], query["privilege"], query["urn"])
    answer = access_answers.request_answer(question)
    if answer is None:
        has_begun = access_answers.has_begun(question)
        return {"is_waiting": True, "has_begun": has_begun, "answer_url": request.get_full_path()}
    if answer.refusal:
        return {"refusal": answer.refusal}
    by = get_actor(request)
    page = list_and_form_pages.get_page(request, answer.rows)
    visible_rows = result_reader.redact_rows(columns=answer.columns, rows=[("", row) for row in page], by=by)
    return {
        "page": page,
        "rows": cells.render_cells(answer.columns, visible_rows, by),
        "columns": cells.list_headings(answer.columns),
        "is_answered": True,
        "is_cut": answer.total > len(answer.rows),
        "total": answer.total,
    }
