"""Route → address → what anonymous, outsider, steward, admin and root get, for the pages about policies."""

from urllib.parse import quote

BASE = "/settings/permissions/policies"
GUARDRAILS = "/settings/permissions/guardrails"
APPROVAL_RULES = "/settings/permissions/approval-rules"
FIXED, FREE, NONE = (f"urn:li:dataHubPolicy:{name}" for name in ("0", "stewards-ask", "none"))


def answers(path, admin, root=None):
    """Give the row of an address: only who manages policies gets anywhere."""
    return {path: (f"/login?next={quote(path)}", 403, 403, admin, admin if root is None else root)}


def posted(path):
    """Give the row of an address that takes posts only."""
    return {path: (405, 405, 405, 405, 405)}


TABLE = {
    "policies": answers(BASE, 200),
    "policies-export": answers(f"{BASE}/export", 200) | answers(f"{BASE}/export?state=INACTIVE", 200),
    "policies-import": answers(f"{BASE}/import", 200),
    "policy-new": answers(f"{BASE}/new", 200)
    | answers(f"{BASE}/new?template=ownership", 200)
    | answers(f"{BASE}/new?like={FIXED}", 200)
    | answers(f"{BASE}/new?like={FREE}&version=1", 200)
    | answers(f"{BASE}/new?like={FREE}&version=9", 404)
    | answers(f"{BASE}/new?like={NONE}", 404),
    "datazone-new": answers(f"{BASE}/statements/new", 200)
    | answers(f"{BASE}/statements/new?template=read-only", 200)
    | answers(f"{BASE}/statements/new?like={FREE}", 404)
    | answers(f"{BASE}/statements/new?like={NONE}", 404),
    "datazone-ids": answers(f"{BASE}/statements/ids?kind=dataset&place=0&part=id&s0_id=x", 200)
    | answers(f"{BASE}/statements/ids", 404),
    "datazone-edit": answers(f"{BASE}/statements/edit/{FREE}", 404) | answers(f"{BASE}/statements/edit/{NONE}", 404),
    "policy-options": answers(f"{BASE}/options/DOMAIN", 200) | answers(f"{BASE}/options/NOTHING", 404),
    "policy-branches": answers(f"{BASE}/branches/DOMAIN", 200) | answers(f"{BASE}/branches/TAG", 404),
    "policy-edit": answers(f"{BASE}/edit/{FREE}", 200)
    | answers(f"{BASE}/edit/{FIXED}", 403)
    | answers(f"{BASE}/edit/{NONE}", 404),
    "policy-export": answers(f"{BASE}/export/{FIXED}", 200) | answers(f"{BASE}/export/{NONE}", 404),
    "policy-state": answers(f"{BASE}/state/{FREE}?state=INACTIVE", 200)
    | answers(f"{BASE}/state/{FREE}", 404)
    | answers(f"{BASE}/state/{NONE}?state=ACTIVE", 404),
    "policy-duplicate": posted(f"{BASE}/duplicate/{FREE}"),
    "policy-delete": answers(f"{BASE}/delete/{FREE}", 200) | answers(f"{BASE}/delete/{NONE}", 404),
    "policy-history": answers(f"{BASE}/history/{FREE}", 200) | answers(f"{BASE}/history/{NONE}", 404),
    "policy-live": answers(f"{BASE}/live/{FREE}", 200) | answers(f"{BASE}/live/{NONE}", 404),
    "policy-version": answers(f"{BASE}/versions/1/{FREE}", 200) | answers(f"{BASE}/versions/2/{FREE}", 404),
    "policy-restore": answers(f"{BASE}/restore/1/{FREE}", 200) | answers(f"{BASE}/restore/2/{FREE}", 404),
    "policy": answers(f"{BASE}/{FIXED}", 200) | answers(f"{BASE}/{NONE}", 404),
    "guardrails": answers(GUARDRAILS, 200),
    "guardrail-new": answers(f"{GUARDRAILS}/new", 200) | answers(f"{GUARDRAILS}/new?kind=at_least", 200),
    "guardrail": answers(f"{GUARDRAILS}/urn:li:guardrail:none", 404),
    "guardrail-edit": answers(f"{GUARDRAILS}/edit/urn:li:guardrail:none", 404),
    "guardrail-delete": answers(f"{GUARDRAILS}/delete/urn:li:guardrail:none", 404),
    "approval-rules": answers(APPROVAL_RULES, 200) | answers(f"{APPROVAL_RULES}?state=ACTIVE", 200),
    "approval-rule-new": answers(f"{APPROVAL_RULES}/new", 200),
    "approval-rule": answers(f"{APPROVAL_RULES}/urn:li:approvalRule:none", 404),
    "approval-rule-edit": answers(f"{APPROVAL_RULES}/edit/urn:li:approvalRule:none", 404),
    "approval-rule-delete": answers(f"{APPROVAL_RULES}/delete/urn:li:approvalRule:none", 404),
    "approval-rule-place": posted(f"{APPROVAL_RULES}/place/urn:li:approvalRule:none"),
}
