"""The addresses of the pages about policies. What is done stands before the URN, since a URN may hold any word."""

from django.urls import path

from policies.http.pages.availability import require_policies
from policies.web import (
    builder,
    history,
    making,
    policies,
    policy_actions,
    policy_live,
    policy_searches,
    statement_editor,
    transfer,
)

BASE = "settings/permissions/policies"

_ADDRESSES = [
    path(BASE, policies.policy_list, name="policies"),
    path(f"{BASE}/export", transfer.export_many, name="policies-export"),
    path(f"{BASE}/import", transfer.import_policies, name="policies-import"),
    path(f"{BASE}/new", making.new, name="policy-new"),
    path(f"{BASE}/statements/new", statement_editor.new, name="datazone-new"),
    path(f"{BASE}/statements/ids", statement_editor.ids, name="datazone-ids"),
    path(f"{BASE}/statements/edit/<path:urn>", statement_editor.edit, name="datazone-edit"),
    path(f"{BASE}/options/<slug:field>", policy_searches.options, name="policy-options"),
    path(f"{BASE}/branches/<slug:field>", policy_searches.branches, name="policy-branches"),
    path(f"{BASE}/edit/<path:urn>", builder.edit, name="policy-edit"),
    path(f"{BASE}/export/<path:urn>", transfer.export_one, name="policy-export"),
    path(f"{BASE}/state/<path:urn>", policy_actions.set_state, name="policy-state"),
    path(f"{BASE}/duplicate/<path:urn>", policy_actions.duplicate, name="policy-duplicate"),
    path(f"{BASE}/delete/<path:urn>", policy_actions.delete, name="policy-delete"),
    path(f"{BASE}/live/<path:urn>", policy_live.live, name="policy-live"),
    path(f"{BASE}/history/<path:urn>", history.history, name="policy-history"),
    path(f"{BASE}/versions/<int:number>/<path:urn>", history.version, name="policy-version"),
    path(f"{BASE}/restore/<int:number>/<path:urn>", history.restore, name="policy-restore"),
    path(f"{BASE}/<path:urn>", policies.policy_detail, name="policy"),
]

#: None of them is there while policies are switched off.
urlpatterns = require_policies(_ADDRESSES)
