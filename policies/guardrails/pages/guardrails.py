"""Settings > Permissions > Guardrails: list with status, detail with what breaks one, deletion."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.guardrails.sentences import describe_example, describe_rule, list_rule_urns
from policies.engine.wording import word_time
from policies.guardrails.pages import fields as guardrail_fields
from policies.guardrails.queries import guardrails
from policies.guardrails.services import guardrails as service
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import GuardrailFilterForm
from policies.http.pages.list_and_form_pages import Section, build_columns, form_view, page_view
from policies.http.pages.record_pages import RecordPages
from policies.models import Guardrail
from policies.pdp import authorizer
from policies.writes import managed_rows

SECTION = Section("Guardrails", "guardrails", ("Settings", "Permissions"))
PAGES = RecordPages(
    SECTION,
    "guardrail",
    "guardrail",
    subtitle="Rules above policies: a change that would break one is refused, by whatever way it comes.",
    rows_template="policies/_guardrail_rows.html",
    icon="lock",
    empty_text="Nothing stands above the policies yet.",
    no_match_text="Try other words, or clear the filters.",
)

MANAGE_GUARD = needs("MANAGE_GUARDRAILS")

MODE_LABELS = {
    Guardrail.Mode.ENFORCE.value: "Enforced: what breaks it is refused",
    Guardrail.Mode.WARN.value: "Warning: what breaks it is stored and reported",
    Guardrail.Mode.OFF.value: "Off",
}
#: Status → label and kind of its badge.
_STATUSES = {
    Guardrail.Status.HOLDS.value: ("Holds", "success"),
    Guardrail.Status.BROKEN.value: ("Broken", "danger"),
    Guardrail.Status.UNKNOWN.value: ("Not known", "warning"),
}


@page_view(MANAGE_GUARD)
def list_guardrails(request: HttpRequest) -> HttpResponse:
    """Page with the list of guardrails, searched, filtered and paged, each as a sentence with its status."""
    return PAGES.render_list(
        request,
        form=GuardrailFilterForm(request.GET),
        query=lambda **filters: guardrails.list_guardrails(**filters).order_by("name", "urn"),
        build_rows=lambda rows: [_build_row(guardrail) for guardrail in rows],
        columns=build_columns("Name", "Rule", "Mode", "Status"),
        has_new=False,
        template="policies/guardrails.html",
        kinds=[
            {"label": label, "url": f"{reverse('guardrail-new')}?kind={kind}"}
            for kind, label in guardrail_fields.KIND_LABELS.items()
        ],
    )


@page_view(MANAGE_GUARD)
def show_guardrail(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one guardrail, judged now: its sentence, its status, and what breaks it with examples in words."""
    guardrail = service.refresh_status(guardrails.get_guardrail(urn=urn))
    row = _build_row(guardrail)
    context = {
        **row,
        "facts": [
            managed_rows.build_editing_fact(
                guardrail,
                label="Can be changed",
                is_editable=not guardrail.is_built_in,
                fixed="No: it is built in",
            ),
            {"label": "Mode", "value": MODE_LABELS[guardrail.mode]},
            {"label": "Version", "value": guardrail.version},
            {"label": "URN", "template": "policies/_urn.html", "urn": guardrail.urn},
        ],
        "rows": build_breach_rows(guardrail.breaches),
        "columns": build_columns("Through", "Who", "Example"),
        "breadcrumbs": SECTION.breadcrumbs(guardrail.name),
    }
    return list_and_form_pages.render_list(
        request, page_template="policies/guardrail.html", fragment_template="policies/_breaches.html", context=context
    )


@form_view(MANAGE_GUARD)
def delete_guardrail(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page, and the deletion of a guardrail."""
    guardrail = guardrails.get_guardrail(urn=urn)
    managed_rows.refuse_managed(guardrail)
    return PAGES.delete(
        request,
        guardrail,
        service.delete,
        text="From then on no change is refused because of it.",
        losses=lambda: [_describe(guardrail)],
    )


def _describe(guardrail: Guardrail) -> str:
    return describe_rule(guardrail.rule, authorizer.load_names(urns=list_rule_urns(guardrail.rule)))


def _build_row(guardrail: Guardrail) -> dict[str, Any]:
    label, kind = _STATUSES[guardrail.status] if guardrail.mode != Guardrail.Mode.OFF else ("Off", "neutral")
    if guardrail.mode != Guardrail.Mode.OFF and guardrail.breaks_at is not None:
        label, kind = f"Holds until {_word_later(guardrail.breaks_at)}", "warning"
    return {
        "guardrail": guardrail,
        "sentence": _describe(guardrail),
        "mode": guardrail.get_mode_display(),
        "status_label": label,
        "status_kind": kind,
    }


def _word_later(breaks_at: str | None) -> str:
    """Return the later time of a stored breach in words, '' for one that is there now."""
    return "" if breaks_at is None else word_time(datetime.fromisoformat(breaks_at))


def build_breach_rows(breaches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row of `policies/_breach_rows.html` for each stored breach: policy, people and examples, with names."""
    names = authorizer.load_names(urns=list_rule_urns(list(breaches)))
    return [
        {
            "policy": breach["policy"],
            "policy_name": names.get(breach["policy"], breach["policy"]),
            "people": [names.get(urn, urn) for urn in breach["people"]],
            "more_people": breach["people_count"] - len(breach["people"]),
            "missing": breach["missing"],
            "breaks_at": _word_later(breach.get("breaks_at")),
            # Those that an earlier release stored have neither time nor reason.
            "reason": breach.get("reason", ""),
            "examples": [
                describe_example(example, names) for example in (breach["example"], breach["other"]) if example
            ],
        }
        for breach in breaches
    ]
