"""Paths of requests and approval rules under /api/v1/."""

from django.urls import URLPattern

from policies.http.api.paths import api_paths
from policies.requests.api import approval_rules, requests

REQUEST = r"(?P<urn>urn:li:accessRequest:[^/]+)"
RULE = r"(?P<urn>urn:li:approvalRule:[^/]+)"

urlpatterns: list[URLPattern] = [
    *api_paths("requests/", requests.AccessRequestListView, "api-requests"),
    *api_paths("requests/preview/", requests.AccessRequestPreviewView, "api-requests-preview"),
    *api_paths(rf"requests/{REQUEST}/approve/", requests.RequestApproveView, "api-request-approve"),
    *api_paths(rf"requests/{REQUEST}/deny/", requests.RequestDenyView, "api-request-deny"),
    *api_paths(rf"requests/{REQUEST}/withdraw/", requests.RequestWithdrawView, "api-request-withdraw"),
    *api_paths(rf"requests/{REQUEST}/comment/", requests.RequestCommentView, "api-request-comment"),
    *api_paths(rf"requests/{REQUEST}/hand_over/", requests.RequestHandOverView, "api-request-hand-over"),
    *api_paths(rf"requests/{REQUEST}/renew/", requests.RequestRenewView, "api-request-renew"),
    *api_paths(rf"requests/{REQUEST}/", requests.AccessRequestDetailView, "api-request"),
    *api_paths("approval-rules/", approval_rules.ApprovalRuleListView, "api-approval-rules"),
    *api_paths(rf"approval-rules/{RULE}/", approval_rules.ApprovalRuleDetailView, "api-approval-rule"),
]
