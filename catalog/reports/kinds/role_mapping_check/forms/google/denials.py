"""Deny policies, as `gcloud iam policies list --kind=denypolicies --format=json` has them, one JSON object a line."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee

#: Whom a rule denies that denies everybody.
EVERYBODY_KEY = "*"
_READING = frozenset(
    ("bigquery.googleapis.com/tables.getData", "bigquery.googleapis.com/tables.*", "bigquery.googleapis.com/*")
)
_ATTACHMENT_PATTERN = re.compile("((?:organizations|folders|projects)/[^/]+)/denypolicies/")
_EVERYBODY = "principalSet://goog/public:all"
_PREFIXES = {
    "principal://goog/subject/": Grantee.USER,
    "principalSet://goog/group/": Grantee.ROLE,
    "principal://iam.googleapis.com/projects/-/serviceAccounts/": Grantee.ROLE,
}
Principal = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DenyRule:
    """A rule by which none of `principals` reads tables where it is attached, while the condition holds.

    It does not apply to `exemptions`. Principals are pairs of a kind and a key; those that no grant names are left out.
    """

    attachment: str
    principals: tuple[Principal, ...]
    exemptions: tuple[Principal, ...]
    condition: str | None
    is_certain: bool


def parse_denials(export: Export, text: str) -> list[DenyRule] | None:
    """Return the rules of a line that deny reading tables, None where it is no deny policy."""
    try:
        document = json.loads(text)
    except ValueError:
        return None
    name, rules = (document.get("name"), document.get("rules")) if isinstance(document, dict) else (None, None)
    match = _ATTACHMENT_PATTERN.search(unquote(name)) if isinstance(name, str) else None
    if match is None or not isinstance(rules, list):
        return None
    deny_rules = [
        rule["denyRule"] for rule in rules if isinstance(rule, dict) and isinstance(rule.get("denyRule"), dict)
    ]
    return [_build_rule(export, match[1], rule) for rule in deny_rules if _is_about_reading(rule)]


def _is_about_reading(rule: Mapping[str, Any]) -> bool:
    return bool(_READING & _read_texts(rule, "deniedPermissions")) and not (
        _READING & _read_texts(rule, "exceptionPermissions")
    )


def _build_rule(export: Export, attachment: str, rule: Mapping[str, Any]) -> DenyRule:
    exemptions = [_find_principal(export, name) for name in _read_texts(rule, "exceptionPrincipals")]
    principals = [_find_principal(export, name) for name in _read_texts(rule, "deniedPrincipals")]
    condition = rule.get("denialCondition")
    return DenyRule(
        attachment=attachment,
        principals=tuple(sorted(filter(None, principals))),
        exemptions=tuple(sorted(filter(None, exemptions))),
        condition=condition.get("expression") if isinstance(condition, dict) else None,
        # Somebody may be exempt by a set of which an export does not tell the members.
        is_certain=None not in exemptions,
    )


def _find_principal(export: Export, name: str) -> Principal | None:
    """Return kind and key of a principal as grants have them, None for a set of which nothing tells who is in it."""
    if name == _EVERYBODY:
        return "", EVERYBODY_KEY
    for prefix, kind in _PREFIXES.items():
        if name.startswith(prefix):
            account = name.removeprefix(prefix)
            is_service_account = "serviceAccounts" in prefix
            key = export.normalize(account) if kind == Grantee.USER else export.role_identifier(account)
            return kind, f"serviceaccount:{account.lower()}" if is_service_account else key
    return None


def _read_texts(rule: Mapping[str, Any], key: str) -> set[str]:
    values = rule.get(key)
    return {value for value in values if isinstance(value, str)} if isinstance(values, list) else set()
