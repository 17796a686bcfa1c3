"""Settings > Permissions > Policies: the list, and the read-only page of one policy."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.authoring.pages import datahub_presenter, presenters, propagation_status
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import import_export
from policies.authoring.services import policies as service
from policies.engine import families
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import PolicyFilterForm
from policies.models import Policy
from policies.pdp import active_policies, authorizer

#: Most events on a policy's page, the newest ones; the history has them all.
MAX_HISTORY_EVENTS = 5

_COLUMNS = (("Name", "name"), ("Type", "type"), ("Description", ""), ("Actors", ""), ("State", "state"))
_SORTABLE = frozenset(key for _, key in _COLUMNS if key)


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def list_policies(request: HttpRequest) -> HttpResponse:
    """Page of the policies, searched, filtered, sorted and paged; htmx gets the list alone."""
    form = PolicyFilterForm(request.GET)
    filters = read_filters(form)
    order = request.GET.get("sort", "")
    if order.removeprefix("-") not in _SORTABLE:
        order = "name"
    page = list_and_form_pages.get_page(request, policy_queries.list_policies(**filters).order_by(order, "urn"))
    privileges = vocabulary.load_datahub()
    context = {
        "page": page,
        "rows": _build_rows(list(page), request),
        "form": form,
        "columns": [
            *(_column_header(label, key, order, request) for label, key in _COLUMNS),
            {"label": "Actions", "is_hidden_label": True},
        ],
        "order": order,
        "export_url": f"{reverse('policies-export')}?{urlencode(filters)}",
        "meant": [_suggestion_link(name, request) for name in privileges.suggest(filters.get("privilege", ""))],
        "breadcrumbs": policy_breadcrumbs(),
        "privileges": list(privileges.privileges.values()),
        "makers": presenters.new_policy_links(),
        "everybody_manages": active_policies.is_open_to_everybody(),
    }
    return list_and_form_pages.render_list(
        request, page_template="policies/list.html", fragment_template="policies/_list.html", context=context
    )


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def show_policy(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one policy: its rules, its actors, and its latest changes."""
    policy = policy_queries.get_policy(urn=urn)
    presenter = presenters.get_presenter(policy.family)
    events = list(policy_queries.list_versions(urn=urn)[: MAX_HISTORY_EVENTS + 1])
    names = load_author_names({policy.created_by, policy.updated_by, *(event.by for event in events)})
    context = {
        "policy": policy,
        "template": presenter.template,
        **presenter.build_page_context(policy.document),
        "sentence": presenter.describe_policy(policy.document),
        "facts": datahub_presenter.summary_facts(policy, names),
        "document": datahub_presenter.format_json(policy.document),
        "unknown": families.get(policy.family).unknown_fields(policy.document),
        "history": [{"event": event, "by": names[event.by]} for event in events[:MAX_HISTORY_EVENTS]],
        "is_history_longer": len(events) > MAX_HISTORY_EVENTS,
        **propagation_status.load_propagation(events[0] if events else None),
        "edit_url": presenters.edit_url(policy),
        "impact_question": _impact_question(policy),
        "breadcrumbs": policy_breadcrumbs(policy.name),
    }
    return render(request, "policies/detail.html", context)


def _impact_question(policy: Policy) -> dict[str, str]:
    """Return the query parameter for the impact report: removal of an active policy, or activation of another one."""
    if policy.state == Policy.State.ACTIVE:
        return {"name": "removed", "value": policy.urn}
    draft = service.draft_with_state(policy, Policy.State.ACTIVE)
    return {"name": "proposed", "value": import_export.format_proposal(draft=draft, urn=policy.urn)}


def read_filters(form: PolicyFilterForm) -> dict[str, str]:
    """Return the non-empty filters of a request; an invalid field filters nothing."""
    form.is_valid()
    return {name: value for name, value in form.cleaned_data.items() if value}


def load_author_names(urns: set[str]) -> Mapping[str, str]:
    """Return the names of the authors of changes by URN; an author without a name has the URN."""
    return {urn: urn for urn in urns} | authorizer.load_names(urns=urns) | {SYSTEM_ACTOR: "the system"}


def policy_breadcrumbs(*items: str | tuple[str, str]) -> list[dict[str, str]]:
    """Return the breadcrumbs of a page below the list of policies; the last item is the page itself."""
    pairs = [item if isinstance(item, tuple) else (item, "") for item in items]
    return list_and_form_pages.settings_breadcrumbs(
        "Permissions", ("Policies", reverse("policies") if items else ""), *pairs
    )


def _build_rows(policies: list[Policy], request: HttpRequest) -> list[dict[str, Any]]:
    names = presenters.load_actor_names(policies)
    return [
        {
            "policy": policy,
            "url": reverse("policy", args=[policy.urn]),
            "type": datahub_presenter.policy_type_label(policy),
            "state": datahub_presenter.state_badge(policy.state),
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


def _suggestion_link(privilege: str, request: HttpRequest) -> dict[str, str]:
    return {"label": privilege, "url": _list_url(request, privilege=privilege)}


def _list_url(request: HttpRequest, **changes: str) -> str:
    """Return the URL of the first page of this list with some of its parameters changed."""
    query = request.GET.copy()
    query.pop("page", None)
    for name, value in changes.items():
        query[name] = value
    return f"{reverse('policies')}?{query.urlencode()}"
