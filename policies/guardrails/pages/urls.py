"""URLs of the pages about guardrails. The action precedes the URN, since a URN may contain any path segment."""

from django.urls import path

from policies.guardrails.pages import editor, guardrails
from policies.http.pages.availability import require_policies

BASE = "settings/permissions/guardrails"

_ADDRESSES = [
    path(BASE, guardrails.list_guardrails, name="guardrails"),
    path(f"{BASE}/new", editor.GuardrailEditor.as_view(), name="guardrail-new"),
    path(f"{BASE}/edit/<path:urn>", editor.GuardrailEditor.as_view(), name="guardrail-edit"),
    path(f"{BASE}/delete/<path:urn>", guardrails.delete_guardrail, name="guardrail-delete"),
    path(f"{BASE}/<path:urn>", guardrails.show_guardrail, name="guardrail"),
]

#: All of them answer 404 while policies are switched off.
urlpatterns = require_policies(_ADDRESSES)
