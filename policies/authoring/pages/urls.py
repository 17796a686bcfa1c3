"""URLs of the pages about policies. The action precedes the URN, since a URN may contain any path segment."""

from django.urls import path

from policies.authoring.pages import (
    builder,
    datazone_editor,
    history,
    import_export,
    policy_actions,
    policy_list,
    propagation_status,
)
from policies.http.pages.availability import require_policies

BASE = "settings/permissions/policies"

_ADDRESSES = [
    path(BASE, policy_list.list_policies, name="policies"),
    path(f"{BASE}/export", import_export.export_policies, name="policies-export"),
    path(f"{BASE}/import", import_export.import_policies, name="policies-import"),
    path(f"{BASE}/new", builder.NewPolicy.as_view(), name="policy-new"),
    path(f"{BASE}/statements/new", datazone_editor.DatazoneEditor.as_view(), name="datazone-new"),
    path(f"{BASE}/statements/ids", datazone_editor.search_ids, name="datazone-ids"),
    path(f"{BASE}/statements/edit/<path:urn>", datazone_editor.DatazoneEditor.as_view(), name="datazone-edit"),
    path(f"{BASE}/options/<slug:field>", builder.search_options, name="policy-options"),
    path(f"{BASE}/branches/<slug:field>", builder.list_branches, name="policy-branches"),
    path(f"{BASE}/edit/<path:urn>", builder.Builder.as_view(), name="policy-edit"),
    path(f"{BASE}/export/<path:urn>", import_export.export_policy, name="policy-export"),
    path(f"{BASE}/state/<path:urn>", policy_actions.set_state, name="policy-state"),
    path(f"{BASE}/duplicate/<path:urn>", policy_actions.duplicate, name="policy-duplicate"),
    path(f"{BASE}/delete/<path:urn>", policy_actions.delete, name="policy-delete"),
    path(f"{BASE}/live/<path:urn>", propagation_status.show_propagation, name="policy-live"),
    path(f"{BASE}/history/<path:urn>", history.show_history, name="policy-history"),
    path(f"{BASE}/versions/<int:number>/<path:urn>", history.show_version, name="policy-version"),
    path(f"{BASE}/restore/<int:number>/<path:urn>", history.restore, name="policy-restore"),
    path(f"{BASE}/<path:urn>", policy_list.show_policy, name="policy"),
]

#: All of them answer 404 while policies are switched off.
urlpatterns = require_policies(_ADDRESSES)
