"""Settings > Permissions > Policies: the list, and the read-only page of one policy."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.authoring.pages import datahub_presenter, presenters, propagation_status
from policies.authoring.pages.presenters import MANAGE_GUARD, SECTION
from policies.authoring.pages.validity_fields import build_phase_badge
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import import_export, policy_drafts
from policies.engine import families
from policies.engine.families import vocabulary
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import PolicyFilterForm
from policies.http.pages.list_and_form_pages import page_view, read_filters
from policies.models import Policy
from policies.pdp import active_policies

#: Most events on a policy's page, the newest ones; the history has them all.
MAX_HISTORY_EVENTS = 5

_COLUMNS = (("Name", "name"), ("Type", "type"), ("Description", ""), ("Actors", ""), ("State", "state"))
_SORTABLE = frozenset(key for _, key in _COLUMNS if key)


@page_view(MANAGE_GUARD)
def list_policies(request: HttpRequest) -> HttpResponse:
    """Page of the policies, searched, filtered, sorted and paged; htmx gets the list alone."""
    form, order = PolicyFilterForm(request.GET), request.GET.get("sort", "")
    if order.removeprefix("-") not in _SORTABLE:
        order = "name"
    filters = read_filters(form)
    privileges = vocabulary.load_datahub()
    return list_and_form_pages.render_filtered_list(
        request,
        "policies/list.html",
        "policies/_list.html",
        form=form,
        query=lambda **filters: policy_queries.list_policies(**filters).order_by(order, "urn"),
        build_rows=lambda policies: _build_rows(policies, request),
        columns=[
            *(_column_header(label, key, order, request) for label, key in _COLUMNS),
            {"label": "Actions", "is_hidden_label": True},
        ],
        order=order,
        export_url=f"{reverse('policies-export')}?{urlencode(filters)}",
        meant=[
            {"label": name, "url": _list_url(request, privilege=name)}
            for name in privileges.suggest(filters.get("privilege", ""))
        ],
        breadcrumbs=SECTION.breadcrumbs(),
        privileges=list(privileges.privileges.values()),
        makers=presenters.new_policy_links(),
        everybody_manages=active_policies.is_open_to_everybody(),
    )


@page_view(MANAGE_GUARD)
def show_policy(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one policy: its rules, its actors, and its latest changes."""
    policy = policy_queries.get_policy(urn=urn)
    presenter = presenters.get_presenter(policy.family)
    events = list(policy_queries.list_versions(urn=urn)[: MAX_HISTORY_EVENTS + 1])
    names = presenters.load_author_names({policy.created_by, policy.updated_by, *(event.by for event in events)})
    context = {
        "policy": policy,
        "template": presenter.template,
        **presenter.build_page_context(policy.document),
        "sentence": presenter.describe_policy(policy.document),
        "facts": datahub_presenter.summary_facts(policy, names, presenter.list_effects(policy.document)),
        "document": datahub_presenter.format_json(policy.document),
        "unknown": families.get(policy.family).unknown_fields(policy.document),
        "history": [{"event": event, "by": names[event.by]} for event in events[:MAX_HISTORY_EVENTS]],
        "is_history_longer": len(events) > MAX_HISTORY_EVENTS,
        **propagation_status.load_propagation(events[0] if events else None),
        "edit_url": presenters.edit_url(policy),
        "impact_question": _impact_question(policy),
        "breadcrumbs": SECTION.breadcrumbs(policy.name),
    }
    return render(request, "policies/detail.html", context)


def _impact_question(policy: Policy) -> dict[str, str]:
    """Return the query parameter for the impact report: removal of an active policy, or activation of another one."""
    if policy.state == Policy.State.ACTIVE:
        return {"name": "removed", "value": policy.urn}
    draft = policy_drafts.draft_with_state(policy, Policy.State.ACTIVE)
    return {"name": "proposed", "value": import_export.format_proposal(draft=draft, urn=policy.urn)}


def _build_rows(policies: list[Policy], request: HttpRequest) -> list[dict[str, Any]]:
    names = presenters.load_actor_names(policies)
    return [
        {
            "policy": policy,
            "url": reverse("policy", args=[policy.urn]),
            "type": datahub_presenter.policy_type_label(policy),
            "state": datahub_presenter.state_badge(policy.state),
            "phase": build_phase_badge(policy),
            "effect": datahub_presenter.build_effect_badge(
                presenters.get_presenter(policy.family).list_effects(policy.document)
            ),
            "actors": presenters.audience_summary(policy, names),
            "edit_url": presenters.edit_url(policy),
            "back": request.get_full_path(),
        }
        for policy in policies
    ]


def _column_header(label: str, key: str, order: str, request: HttpRequest) -> dict[str, Any]:
    if not key:
        return {"label": label}
    column: dict[str, Any] = {"label": label, "sort_url": _list_url(request, sort=f"-{key}" if order == key else key)}
    if order.removeprefix("-") == key:
        column["sort"] = "descending" if order.startswith("-") else "ascending"
    return column


def _list_url(request: HttpRequest, **changes: str) -> str:
    """Return the URL of the first page of this list with some of its parameters changed."""
    query = request.GET.copy()
    query.pop("page", None)
    for name, value in changes.items():
        query[name] = value
    return f"{reverse('policies')}?{query.urlencode()}"
