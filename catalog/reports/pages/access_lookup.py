"""Questions about a finished run: people of an entity, entities of a person, changes since an earlier run."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from catalog import urns
from catalog.models import Report
from catalog.reports import registry
from catalog.reports.pages import cells, layout, runs
from catalog.reports.pages.layout import VIEW_GUARD
from catalog.reports.queries import report_rows
from catalog.reports.run import access_lookup, result_reader
from catalog.reports.snapshot.reader import CorruptSnapshot
from catalog.reports.tables import ENTITY, PERSON, ReportColumn, number_column
from policies.engine import families, selectors
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import page_view

#: Rows of an answer on the page at most; `manage.py access` prints all.
MAX_ROWS = 10_000

#: Facet by which an entity of a type selects a part of the catalog.
_FACETS = {
    "tag": selectors.TAG,
    "domain": selectors.DOMAIN,
    "container": selectors.CONTAINER,
    "glossaryTerm": selectors.GLOSSARY,
    "glossaryNode": selectors.GLOSSARY,
    "dataPlatformInstance": selectors.DATA_PLATFORM_INSTANCE,
    "corpuser": selectors.OWNER,
    "corpGroup": selectors.OWNER,
}

_CHANGE_COLUMNS = (PERSON, number_column("gained", "Gained on"), number_column("lost", "Lost on"))

#: The columns of an answer, its rows, of which the first MAX_ROWS are kept, and their total number.
AccessAnswer = tuple[tuple[ReportColumn, ...], list[tuple[Any, ...]], int]


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
        run_choices = [
            (str(earlier_run.pk), f"{earlier_run.requested_at:%Y-%m-%d %H:%M} UTC") for earlier_run in earlier_runs
        ]
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
            if urns.entity_type(values["urn"]) not in _FACETS:
                self.add_error("urn", "Name a tag, domain, container, term, platform instance or owner.")
            if not values.get("since"):
                self.add_error("since", "There is no earlier run to compare with yet.")
        return values


@page_view(VIEW_GUARD)
def show_access(request: HttpRequest, id: UUID) -> HttpResponse:
    """Page of questions about a finished run; an htmx request gets only the answer."""
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
    since = next((item for item in earlier_runs if str(item.pk) == query["since"]), None)
    key_source = json.dumps([str(run.pk), str(since and since.pk), query["ask"], query["privilege"], query["urn"]])
    key = f"report-access:{hashlib.sha256(key_source.encode()).hexdigest()}"
    try:
        columns, rows, total = layout.cache_report_result(key, lambda: _look_up(run, since, query))
    except (NotFound, CorruptSnapshot) as refusal:
        return {"refusal": str(refusal)}
    by = get_actor(request)
    page = list_and_form_pages.get_page(request, rows)
    visible_rows = result_reader.redact_rows(columns=columns, rows=[("", row) for row in page], by=by)
    return {
        "page": page,
        "rows": cells.render_cells(columns, visible_rows, by),
        "columns": cells.list_headings(columns),
        "is_answered": True,
        "is_cut": total > len(rows),
        "total": total,
    }


def _look_up(run: Report, since: Report | None, query: Mapping[str, Any]) -> AccessAnswer:
    privilege, urn = query["privilege"], query["urn"]
    columns: tuple[ReportColumn, ...]
    rows: list[tuple[Any, ...]]
    match query["ask"]:
        case "changed":
            if since is None:
                raise NotFound("There is no earlier run to compare with.")
            field = _FACETS[urns.entity_type(urn)]
            changes = access_lookup.count_changes(older=since, newer=run, privilege=privilege, field=field, value=urn)
            people = changes.gained.keys() | changes.lost.keys()
            columns = _CHANGE_COLUMNS
            rows = [(person, changes.gained[person], changes.lost[person]) for person in people]
            rows.sort(key=lambda row: (-row[1], -row[2], row[0]))
        case "what":
            entities = access_lookup.list_entities(report=run, privilege=privilege, person=urn)
            columns, rows = (ENTITY,), [(entity,) for entity in entities]
        case _:
            columns = (PERSON,)
            rows = [(item,) for item in access_lookup.list_people(report=run, privilege=privilege, entity=urn)]
    return columns, rows[:MAX_ROWS], len(rows)
