"""Settings > Permissions > Approval rules: list in their order, detail, deletion, and placing one before another."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from policies.authoring.pages.policy_actions import parse_version
from policies.errors import Unavailable
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import ApprovalRuleFilterForm
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    Section,
    action_view,
    ask_and_act,
    build_columns,
    form_view,
    page_view,
    redirect_with_message,
)
from policies.models import ApprovalRule
from policies.pdp import database_clock
from policies.requests.pages.rule_wording import describe_decided, describe_rule, load_names
from policies.requests.queries import approval_rules
from policies.requests.rules import approval_rules as service
from policies.requests.rules.choice import load_terms
from policies.requests.rules.past_requests import count_decided
from policies.writes import managed_rows

SECTION = Section("Approval rules", "approval-rules", ("Settings", "Permissions"))

MANAGE_GUARD = needs("MANAGE_POLICIES")

STATE_LABELS = {
    ApprovalRule.State.ACTIVE.value: "Active",
    ApprovalRule.State.INACTIVE.value: "Not active: no request is compared with it",
}

#: The parameters of the list that stay when a rule is placed.
_KEPT_PARAMETERS = ("q", "state", "page", "size")


@page_view(MANAGE_GUARD)
def list_rules(request: HttpRequest) -> HttpResponse:
    """Page with the rules in the order in which they are compared, each as a sentence; `moved` was placed just now."""
    return list_and_form_pages.render_filtered_list(
        request,
        "requests/rules.html",
        "requests/_rules.html",
        form=ApprovalRuleFilterForm(request.GET),
        query=approval_rules.list_rules,
        build_rows=partial(_build_rows, moved=request.GET.get("moved", "")),
        columns=build_columns("Order", "Rule", "For what, and who decides", "State", "Actions", numbers=["Order"]),
        kept=[(name, request.GET[name]) for name in _KEPT_PARAMETERS if name in request.GET],
        breadcrumbs=SECTION.breadcrumbs(),
    )


@page_view(MANAGE_GUARD)
def show_rule(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one rule: its sentence, its steps, and how many of the last requests it would have decided."""
    rule = approval_rules.get_rule(urn=urn)
    context = {
        "rule": rule,
        "sentence": describe_rule(rule.terms, load_names([rule.terms])),
        "decided": _describe_decided(rule),
        "is_active": rule.state == ApprovalRule.State.ACTIVE,
        "conditions": rule.terms.get("conditions") or [],
        "facts": [
            managed_rows.build_editing_fact(rule, label="Can be changed", is_editable=True),
            {"label": "State", "value": STATE_LABELS[rule.state]},
            {"label": "Order", "value": rule.order},
            {"label": "Version", "value": rule.version},
            {"label": "URN", "template": "policies/_urn.html", "urn": rule.urn},
        ],
        "breadcrumbs": SECTION.breadcrumbs(rule.name),
    }
    return list_and_form_pages.render_list(
        request, page_template="requests/rule.html", fragment_template="requests/rule.html", context=context
    )


@form_view(MANAGE_GUARD)
def delete_rule(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page, and the deletion of a rule at the version that was confirmed."""
    rule = approval_rules.get_rule(urn=urn)
    managed_rows.refuse_managed(rule)
    return ask_and_act(
        request,
        partial(service.delete, urn=urn, if_version=parse_version(request.POST.get("version"))),
        lambda _: redirect_with_message(request, f"{rule.name} is deleted.", "approval-rules"),
        title=f"Delete {rule.name}?",
        text="New requests are compared with the other rules. Open requests keep their steps.",
        losses=lambda: [describe_rule(rule.terms, load_names([rule.terms]))],
        label="Delete approval rule",
        hidden=[{"name": "version", "value": rule.version}],
        cancel_url=reverse("approval-rule", args=[urn]),
    )


@action_view(MANAGE_GUARD)
def move_rule(request: HttpRequest, urn: str) -> HttpResponse:
    """Place a rule before or after another one, at the version that the list showed; return to the list."""
    before, after = request.POST.get("before", ""), request.POST.get("after", "")
    if before or after:
        service.move(
            urn=urn,
            before=before or None,
            after=after or None,
            if_version=parse_version(request.POST.get("version")),
            by=get_actor(request),
            channel=CHANNEL,
        )
    kept_parameters = {name: request.POST[name] for name in _KEPT_PARAMETERS if request.POST.get(name)}
    return redirect(f"{SECTION.url}?{urlencode({**kept_parameters, 'moved': urn})}")


def _describe_decided(rule: ApprovalRule) -> str:
    try:
        terms = load_terms(rule)
        decided = count_decided(terms=terms, order=rule.order, urn=rule.urn, now=database_clock.get_now())
    except Unavailable as refusal:
        return refusal.detail
    return describe_decided(decided, is_active=rule.state == ApprovalRule.State.ACTIVE)


def _build_rows(rules: Sequence[ApprovalRule], *, moved: str) -> list[dict[str, Any]]:
    """Return the rows of the list, each with the rules before and after it in the order of all."""
    names = load_names(rule.terms for rule in rules)
    urns = list(approval_rules.list_rules().values_list("urn", flat=True))
    numbers = {urn: number for number, urn in enumerate(urns)}
    return [
        {
            "rule": rule,
            "place": number + 1,
            "sentence": describe_rule(rule.terms, names),
            "is_active": rule.state == ApprovalRule.State.ACTIVE,
            "is_moved": rule.urn == moved,
            "above": urns[number - 1] if number else "",
            "below": urns[number + 1] if number + 1 < len(urns) else "",
            "can_move": not rule.is_managed,
        }
        for rule in rules
        for number in [numbers.get(rule.urn, 0)]
    ]
