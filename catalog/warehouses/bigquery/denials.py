"""Deny policies, as `gcloud iam policies list --kind=denypolicies --format=json` has them, one JSON object a line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from catalog.warehouses.bigquery.hierarchy import BadLine, parse_object
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.warehouse import Export

#: Whom a rule denies that denies everybody.
EVERYBODY_KEY = "*"
_READING = frozenset(
    f"bigquery.googleapis.com/{name}" for name in ("tables.getData", "tables.*", "*.getData", "*.*", "*")
)
#: What denies all that may be done with tables, and with what they are in, which is to give them away.
_TABLES, _ALL = "bigquery.googleapis.com/tables.*", {"bigquery.googleapis.com/*.*", "bigquery.googleapis.com/*"}
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
    `level` is the highest level of access of which it leaves nothing.
    """

    attachment: str
    principals: tuple[Principal, ...]
    exemptions: tuple[Principal, ...]
    condition: str | None
    is_certain: bool
    level: int


def parse_denials(export: Export, text: str) -> list[DenyRule]:
    """Return the rules of a line that deny reading tables. Raises BadLine."""
    document = parse_object(text)
    name, rules = document.get("name"), document.get("rules")
    match = _ATTACHMENT_PATTERN.search(unquote(name)) if isinstance(name, str) else None
    if match is None:
        raise BadLine("It does not name what a deny policy is attached to.")
    if not isinstance(rules, list):
        raise BadLine("It has no list of rules.")
    deny_rules = map(_find_deny_rule, rules)
    return [_build_rule(export, match[1], rule) for rule in deny_rules if _is_about_reading(rule)]


def _find_deny_rule(rule: Any) -> Mapping[str, Any]:
    deny_rule = rule.get("denyRule") if isinstance(rule, dict) else None
    if not isinstance(deny_rule, dict) or not deny_rule.get("deniedPermissions"):
        raise BadLine("One of its rules denies nothing.")
    return deny_rule


def _is_about_reading(rule: Mapping[str, Any]) -> bool:
    return bool(_READING & _read_texts(rule, "deniedPermissions")) and not (
        _READING & _read_texts(rule, "exceptionPermissions")
    )


def _find_level(rule: Mapping[str, Any]) -> int:
    denied = _read_texts(rule, "deniedPermissions")
    # Whatever is left out of them may be a way to write.
    if _read_texts(rule, "exceptionPermissions"):
        return READ
    return ADMIN if _ALL & denied else WRITE if _TABLES in denied else READ


def _build_rule(export: Export, attachment: str, rule: Mapping[str, Any]) -> DenyRule:
    condition = rule.get("denialCondition")
    if condition is not None and not (isinstance(condition, dict) and isinstance(condition.get("expression"), str)):
        raise BadLine("One of its conditions has no expression.")
    exemptions = [_find_principal(export, name) for name in _read_texts(rule, "exceptionPrincipals")]
    principals = [_find_principal(export, name) for name in _read_texts(rule, "deniedPrincipals")]
    return DenyRule(
        attachment=attachment,
        principals=tuple(sorted(filter(None, principals))),
        exemptions=tuple(sorted(filter(None, exemptions))),
        condition=condition["expression"] if condition else None,
        # Somebody may be exempt by a set of which an export does not tell the members.
        is_certain=None not in exemptions,
        level=_find_level(rule),
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
