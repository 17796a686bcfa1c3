"""SCIM filters as SQL conditions, so that counts and pages are exact for any number of users.

Values are compared of the attributes by which providers look up users and groups; whether there is one can be asked of
every attribute. Any other filter is refused, since filtering a page after the query would give wrong counts.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.db.models import Q
from django.utils.dateparse import parse_datetime
from scim2_models import InvalidFilterException
from scim2_models.path import (
    AttrPath,
    CompareOperator,
    Comparison,
    FilterVisitor,
    LogicalExpr,
    LogicalOperator,
    Not,
    Present,
    ValuePath,
)

from policies.identity.scim import stored_attributes
from policies.models import Membership, User
from policies.models.fields import fold_ascii, is_storable

#: Longest filter, in characters. A filter nested beyond the interpreter's recursion limit is refused, too.
MAX_FILTER_LENGTH = 4000

AttributeCondition = Callable[[CompareOperator | None, Any], Q]

#: Condition that matches no row.
NO_ROWS = Q(pk__in=[])
_ALL_ROWS = ~NO_ROWS
_LOOKUPS = {
    CompareOperator.co: "contains",
    CompareOperator.sw: "startswith",
    CompareOperator.ew: "endswith",
    CompareOperator.gt: "gt",
    CompareOperator.ge: "gte",
    CompareOperator.lt: "lt",
    CompareOperator.le: "lte",
}
_ORDERING_OPERATORS = (CompareOperator.gt, CompareOperator.ge, CompareOperator.lt, CompareOperator.le)
_TEXT_OPERATORS = (CompareOperator.co, CompareOperator.sw, CompareOperator.ew)


def build_condition(node: Any, resource: str) -> Q:
    """Return a parsed filter as a condition on rows of `resource`, "User" or "Group". Raises InvalidFilterException."""
    if len(str(node)) > MAX_FILTER_LENGTH:
        raise InvalidFilterException(detail=f"A filter has up to {MAX_FILTER_LENGTH} characters.")
    return _ConditionVisitor(resource, _ATTRIBUTES[resource]).visit(node)


class _ConditionVisitor(FilterVisitor[Q]):
    """Converts a filter to a condition. Inside `emails[type eq "work"]` the `path_prefix` is `emails.`, else empty."""

    def __init__(self, resource: str, attributes: Mapping[str, AttributeCondition], path_prefix: str = "") -> None:
        self.resource = resource
        self.attributes = attributes
        self.path_prefix = path_prefix

    def visit_comparison(self, node: Comparison) -> Q:
        """Return the condition of a comparison."""
        return self._find_condition(node.attr_path)(node.op, node.value)

    def visit_present(self, node: Present) -> Q:
        """Return the condition that the attribute has a value."""
        presence = stored_attributes.find_presence(self.resource, self._name_attribute(node.attr_path).lower())
        return self._find_condition(node.attr_path)(None, None) if presence is None else presence

    def visit_not(self, node: Not) -> Q:
        """Return the negated condition."""
        return ~self.visit(node.expr)

    def visit_logical_expr(self, node: LogicalExpr) -> Q:
        """Return the terms joined by AND or OR."""
        terms = [self.visit(term) for term in node.terms]
        return Q(*terms, _connector=Q.AND if node.op == LogicalOperator.and_ else Q.OR)

    def visit_value_path(self, node: ValuePath) -> Q:
        """Return the condition that an entry of a list meets the filter in brackets. Raises InvalidFilterException."""
        name = node.attr_path.attr.lower()
        if name == "emails" and isinstance(node.val_filter, Comparison | Present | LogicalExpr):
            return _ConditionVisitor(self.resource, _EMAIL_ATTRIBUTES, f"{name}.").visit(node.val_filter)
        if name in ("members", "groups") and isinstance(node.val_filter, Comparison):
            return _ConditionVisitor(self.resource, self.attributes, f"{name}.").visit(node.val_filter)
        raise InvalidFilterException(detail=f"{node} cannot be searched for.")

    def _name_attribute(self, path: AttrPath) -> str:
        return f"{self.path_prefix}{path.attr}{f'.{path.sub_attr}' if path.sub_attr else ''}"

    def _find_condition(self, path: AttrPath) -> AttributeCondition:
        name = self._name_attribute(path)
        condition = self.attributes.get(name.lower())
        if condition is None:
            raise InvalidFilterException(
                detail=f"{name} cannot be searched for; these can: {', '.join(sorted(self.attributes))}."
            )
        return condition


def _build_text_condition(column: str, *, is_exact: bool) -> AttributeCondition:
    """Return the comparison of a non-null text column, ignoring case unless `is_exact`; null is compared as ''."""
    case_prefix = "" if is_exact else "i"

    def compare(op: CompareOperator | None, value: Any) -> Q:
        if op is None:
            return ~Q(**{column: ""})
        lookup = _LOOKUPS.get(op, "exact")
        text = "" if value is None else value
        if isinstance(text, str) and is_storable(text):
            condition = Q(**{f"{column}__{lookup if op in _ORDERING_OPERATORS else case_prefix + lookup}": text})
        else:
            condition = NO_ROWS
        return ~condition if op == CompareOperator.ne else condition

    return compare


def _compare_username(op: CompareOperator | None, value: Any) -> Q:
    return _build_text_condition("username__lower", is_exact=True)(
        op, fold_ascii(value) if isinstance(value, str) else value
    )


def _build_id_condition(column: str) -> AttributeCondition:
    def compare(op: CompareOperator | None, value: Any) -> Q:
        if op is None:
            return _ALL_ROWS
        if op not in (CompareOperator.eq, CompareOperator.ne):
            raise InvalidFilterException(detail="An id is compared with eq or ne.")
        condition = NO_ROWS if (key := parse_id(value)) is None else Q(**{column: key})
        return ~condition if op == CompareOperator.ne else condition

    return compare


def _compare_active(op: CompareOperator | None, value: Any) -> Q:
    if op is None:
        return _ALL_ROWS
    is_active = {"true": True, "false": False}.get(str(value).lower())
    if op not in (CompareOperator.eq, CompareOperator.ne) or is_active is None:
        raise InvalidFilterException(detail="active is true or false.")
    return Q(state=User.State.ACTIVE if is_active == (op == CompareOperator.eq) else User.State.SUSPENDED)


def _compare_created(op: CompareOperator | None, value: Any) -> Q:
    if op is None:
        return _ALL_ROWS
    try:
        moment = value if isinstance(value, datetime) else parse_datetime(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or op in _TEXT_OPERATORS:
        raise InvalidFilterException(detail="A time is compared with eq, ne, gt, ge, lt or le, and has its zone.")
    condition = Q(**{f"created_at__{_LOOKUPS.get(op, 'exact')}": moment})
    return ~condition if op == CompareOperator.ne else condition


def _compare_group(op: CompareOperator | None, value: Any) -> Q:
    rows = Membership.objects.filter(_build_id_condition("group__profile__scim_id")(op, value))
    return Q(pk__in=rows.values("user"))


def _compare_member(op: CompareOperator | None, value: Any) -> Q:
    rows = Membership.objects.filter(_build_id_condition("user__scim_id")(op, value), is_external=True)
    return Q(group__in=rows.values("group"))


def _compare_email_type(op: CompareOperator | None, value: Any) -> Q:
    """Return the condition that a user has an address; `type eq "work"` is the only supported comparison."""
    if op == CompareOperator.eq and str(value).lower() == "work":
        return ~Q(email="")
    raise InvalidFilterException(detail='Of addresses only that of type "work" can be searched for.')


def parse_id(value: Any) -> uuid.UUID | None:
    """Return a resource id, or None if the value is not a UUID."""
    try:
        return uuid.UUID(value)
    except (AttributeError, TypeError, ValueError):
        return None


_COMMON_ATTRIBUTES = {
    "id": _build_id_condition("scim_id"),
    "externalid": _build_text_condition("external_id", is_exact=True),
    "meta.created": _compare_created,
}
_EMAIL_CONDITION = _build_text_condition("email", is_exact=False)
_EMAIL_ATTRIBUTES: Mapping[str, AttributeCondition] = {
    "emails.value": _EMAIL_CONDITION,
    "emails.type": _compare_email_type,
}
_ATTRIBUTES: Mapping[str, Mapping[str, AttributeCondition]] = MappingProxyType(
    {
        "User": {
            **_COMMON_ATTRIBUTES,
            "username": _compare_username,
            "active": _compare_active,
            "emails": _EMAIL_CONDITION,
            "emails.value": _EMAIL_CONDITION,
            "groups": _compare_group,
            "groups.value": _compare_group,
        },
        "Group": {
            **_COMMON_ATTRIBUTES,
            "displayname": _build_text_condition("name", is_exact=False),
            "members": _compare_member,
            "members.value": _compare_member,
        },
    }
)
