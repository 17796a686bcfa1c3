"""The JSON Schema of what a submission adds to a denial: what the rule wants, for programs that ask by themselves."""

from typing import Any

from policies.errors import NotFound
from policies.models import ApprovalRule
from policies.models.request import MAX_NOTE_LENGTH, MAX_TICKET_LENGTH
from policies.requests.rules.choice import load_terms
from policies.requests.rules.terms import RuleTerms

MEDIA_TYPE = "application/schema+json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def build_schema(template: str) -> dict[str, Any]:
    """Return the schema of submissions under a rule (URN), or without one; raises NotFound for an unknown rule."""
    if not template:
        return _describe("Request for access", RuleTerms())
    rule = ApprovalRule.objects.filter(urn=template, state=ApprovalRule.State.ACTIVE).first()
    if rule is None:
        raise NotFound("There is no such template.")
    return _describe(rule.name, load_terms(rule))


def _describe(title: str, terms: RuleTerms) -> dict[str, Any]:
    added: dict[str, Any] = {
        "justification": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_NOTE_LENGTH,
            "description": "Why access is needed. Those who decide read it.",
        },
        "ticket": {
            "type": "string",
            "format": "uri",
            "pattern": "^https?://",
            "maxLength": MAX_TICKET_LENGTH,
            "description": "The address of a ticket.",
        },
    }
    required = ["justification"]
    if terms.ticket == "required":
        required.append("ticket")
    if terms.conditions:
        added["conditions"] = {
            "type": "array",
            "uniqueItems": True,
            "items": {"oneOf": [{"const": name, "title": text} for name, text in terms.conditions.items()]},
            "allOf": [{"contains": {"const": name}} for name in terms.conditions],
            "description": "The ids of the conditions that are agreed to: all of them.",
        }
        required.append("conditions")
    return {
        "$schema": _DIALECT,
        "title": title,
        "type": "object",
        "required": ["context"],
        "properties": {
            "context": {"type": "object", "required": required, "properties": added},
            "requested_access": {
                "type": "object",
                "properties": {
                    "requested_until": {
                        "type": "string",
                        "format": "date-time",
                        "description": f"At most {terms.longest.total_seconds() / 86_400:g} days from now.",
                    },
                    "emergency": {"type": "boolean", "description": "Kept for the record; it changes nothing."},
                },
            },
        },
    }
