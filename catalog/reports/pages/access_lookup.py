"""What a finished run is asked later: who could use a privilege on an entity, on what somebody could, and who gained
and lost it on a part of the catalog since an earlier run.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog import urns
from catalog.models import Report
from catalog.reports.pages import cells, layout, runs
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import report_rows
from catalog.reports.run import access_lookup, result_reader
from catalog.reports.snapshot.partitions import Corrupt
from catalog.reports.spec import Column, ColumnKind
from policies.engine import families, selectors
from policies.errors import NotFound
from policies.http.guard import actor_of
from policies.http.pages import list_and_form_pages

#: How many earlier runs are offered.
_OFFERED = 50

#: How many rows of an answer are shown; `manage.py access` prints all.
MOST = 10_000

WHO, WHAT, CHANGED = "who", "what", "changed"

#: By which facet an entity of a type is a part of the catalog.
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

_PERSON = Column("person", "Person", ColumnKind.ACTOR)
_ENTITY = Column("entity", "Entity", ColumnKind.ENTITY)
_GAINED = Column("gained", "Gained on", ColumnKind.NUMBER)
_LOST = Column("lost", "Lost on", ColumnKind.NUMBER)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The first MOST rows, what stands in them, and how many there are in all."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    total: int

    @classmethod
    def of(cls, columns: tuple[Column, ...], rows: Sequence[Row]) -> "Answer":
        """Return the answer of all rows."""
        return cls(columns, rows[:MOST], len(rows))


class AccessForm(forms.Form):
    """What is asked: the question, a privilege that was counted, a URN, and for changes an earlier run."""

    ask = forms.ChoiceField(
        label="Question",
        required=False,
        choices=[
            (WHO, "Who could use it on an entity"),
            (WHAT, "What a person could use it on"),
            (CHANGED, "Who gained and lost it"),
        ],
    )
    privilege = forms.ChoiceField(label="Privilege", required=False)
    urn = forms.CharField(
        label="URN",
        max_length=urns.LONGEST,
        widget=forms.TextInput(attrs={"placeholder": "urn:li:…"}),
        help_text="For the first question of an entity, for the second of a user, for the third of a tag, domain, "
        "container, term, platform instance or owner.",
    )
    since = forms.ChoiceField(label="Since", required=False)

    def __init__(self, data: Any, run: Report, earlier: Sequence[Report]) -> None:
        super().__init__(data if data.get("urn") else None, initial=data.dict())
        counted = [(name, families.display_privilege(name)) for name in run.parameters.get("privileges", ())]
        since = [(str(one.pk), f"{one.requested_at:%Y-%m-%d %H:%M} UTC") for one in earlier]
        self.fields["privilege"].choices = counted  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["since"].choices = since or [("", "No earlier run yet")]  # type: ignore[attr-defined]

    def clean_urn(self) -> str:
        """Return the URN; refuse what is none."""
        found: str = self.cleaned_data["urn"].strip()
        problem = urns.problem(found, "")
        if problem is not None:
            raise forms.ValidationError(problem.detail)
        return found

    def clean(self) -> dict[str, Any]:
        """Refuse a question about changes of something that is no part of the catalog, or without an earlier run."""
        cleaned = self.cleaned_data
        if cleaned.get("ask") == CHANGED and "urn" in cleaned:
            if urns.type_of(cleaned["urn"]) not in _FACETS:
                self.add_error("urn", "Name a tag, domain, container, term, platform instance or owner.")
            if not cleaned.get("since"):
                self.add_error("since", "There is no earlier run to compare with yet.")
        return cleaned


@require_GET
@never_cache
@SEES
def access(request: HttpRequest, id: UUID) -> HttpResponse:
    """A finished run and what it is asked; an htmx request gets the answer alone."""
    run = report_rows.report(id=id)
    kind = layout.kind_of(run)
    if run.status != Report.Status.READY or not kind.keeps_snapshot:
        raise NotFound("This report cannot be asked.")
    earlier = [one for one in report_rows.comparable(to=run)[:_OFFERED] if one.requested_at < run.requested_at]
    form = AccessForm(request.GET, run, earlier)
    context: dict[str, Any] = {"form": form, "access_url": reverse("report-access", args=[id])}
    if form.is_valid():
        context |= _answered(request, run, earlier, form.cleaned_data)
    if not list_and_form_pages.wants_fragment(request):
        context |= runs.around(request, run, tab="access")
    return list_and_form_pages.listed(
        request, whole="reports/access.html", part="reports/_access.html", context=context
    )


def _answered(request: HttpRequest, run: Report, earlier: Sequence[Report], asked: Mapping[str, Any]) -> dict[str, Any]:
    since = next((one for one in earlier if str(one.pk) == asked["since"]), None)
    work = _WORK[asked["ask"] or WHO]
    said = json.dumps([str(run.pk), str(since and since.pk), asked["ask"], asked["privilege"], asked["urn"]])
    key = f"report-access:{hashlib.sha256(said.encode()).hexdigest()}"
    try:
        answer = layout.kept(key, lambda: work(run, since, asked["privilege"], asked["urn"]))
    except (NotFound, Corrupt) as refusal:
        return {"refusal": str(refusal)}
    by = actor_of(request)
    page = list_and_form_pages.page_of(request, answer.rows)
    shown = result_reader.shown(columns=answer.columns, rows=[("", row) for row in page], by=by)
    return {
        "page": page,
        "rows": cells.drawn(answer.columns, shown, by),
        "columns": [{"label": one.title, "is_number": one.kind is ColumnKind.NUMBER} for one in answer.columns],
        "is_answered": True,
        "is_cut": answer.total > len(answer.rows),
        "total": answer.total,
    }


def _who(run: Report, _: Report | None, privilege: str, urn: str) -> Answer:
    return Answer.of((_PERSON,), [(one,) for one in access_lookup.who(report=run, privilege=privilege, entity=urn)])


def _what(run: Report, _: Report | None, privilege: str, urn: str) -> Answer:
    return Answer.of((_ENTITY,), [(one,) for one in access_lookup.what(report=run, privilege=privilege, person=urn)])


def _changed(run: Report, since: Report | None, privilege: str, urn: str) -> Answer:
    if since is None:
        raise NotFound("There is no earlier run to compare with.")
    field = _FACETS[urns.type_of(urn)]
    found = access_lookup.changed(before=since, after=run, privilege=privilege, field=field, value=urn)
    people = sorted(
        found.gained.keys() | found.lost.keys(), key=lambda one: (-found.gained[one], -found.lost[one], one)
    )
    return Answer.of((_PERSON, _GAINED, _LOST), [(one, found.gained[one], found.lost[one]) for one in people])


_WORK: Mapping[str, Callable[[Report, Report | None, str, str], Answer]] = {WHO: _who, WHAT: _what, CHANGED: _changed}
