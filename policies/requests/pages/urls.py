"""URLs of the pages about requests. The action precedes the URN."""

from django.urls import path

from policies.http.pages.availability import require_policies
from policies.requests.pages import (
    approval_rules,
    asking,
    one_request,
    opened_links,
    renewal,
    requests,
    rule_editor,
    together,
)

_RULES = "settings/permissions/approval-rules"

_ADDRESSES = [
    path(_RULES, approval_rules.list_rules, name="approval-rules"),
    path(f"{_RULES}/new", rule_editor.ApprovalRuleEditor.as_view(), name="approval-rule-new"),
    path(f"{_RULES}/edit/<path:urn>", rule_editor.ApprovalRuleEditor.as_view(), name="approval-rule-edit"),
    path(f"{_RULES}/delete/<path:urn>", approval_rules.delete_rule, name="approval-rule-delete"),
    path(f"{_RULES}/place/<path:urn>", approval_rules.move_rule, name="approval-rule-place"),
    path(f"{_RULES}/<path:urn>", approval_rules.show_rule, name="approval-rule"),
    path("requests", requests.list_requests, name="requests"),
    path("requests/to-decide", requests.list_to_decide, name="requests-to-decide"),
    path("requests/together", together.decide_together, name="requests-together"),
    path("requests/open/<str:token>", opened_links.open_link, name="request-open"),
    path("requests/new", asking.request_access, name="request-new"),
    path("requests/give", asking.ask_for_others, name="access-give"),
    path("requests/withdraw/<path:urn>", one_request.withdraw_request, name="request-withdraw"),
    path("requests/renew/<path:urn>", renewal.renew_request, name="request-renew"),
    path("requests/<path:urn>", one_request.show_request, name="request"),
]

#: All of them answer 404 while policies are switched off.
urlpatterns = require_policies(_ADDRESSES)
