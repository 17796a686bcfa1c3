"""Filters as conditions of SQL, so that counts and pages are exact whatever the number of people.

What can be asked for is what providers look people up by. Any other attribute is refused, for a filter that is applied
to a page afterwards would count wrongly.
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

from policies.models import Membership, User
from policies.models.fields import folded, is_storable

#: Longest filter, in characters; what is nested more deeply than the interpreter goes is refused, too.
LONGEST = 4000

Condition = Callable[[CompareOperator | None, Any], Q]

#: What no row meets.
NOBODY = Q(pk__in=[])
_EVERYBODY = ~NOBODY
_LOOKUPS = {
    CompareOperator.co: "contains",
    CompareOperator.sw: "startswith",
    CompareOperator.ew: "endswith",
    CompareOperator.gt: "gt",
    CompareOperator.ge: "gte",
    CompareOperator.lt: "lt",
    CompareOperator.le: "lte",
}
_ORDERING = (CompareOperator.gt, CompareOperator.ge, CompareOperator.lt, CompareOperator.le)
_TEXTUAL = (CompareOperator.co, CompareOperator.sw, CompareOperator.ew)


def condition(node: Any, resource: str) -> Q:
    """Return the condition of a parsed filter on rows of "User" or "Group". Raises InvalidFilterException."""
    if len(str(node)) > LONGEST:
        raise InvalidFilterException(detail=f"A filter has up to {LONGEST} characters.")
    return _Visitor(_ATTRIBUTES[resource]).visit(node)


class _Visitor(FilterVisitor[Q]):
    """Walks a filter. `inside` is the attribute whose values are chosen from, in `emails[type eq "work"]`."""

    def __init__(self, attributes: Mapping[str, Condition], inside: str = "") -> None:
        self.attributes = attributes
        self.inside = inside

    def visit_comparison(self, node: Comparison) -> Q:
        """Return the condition of a comparison."""
        return self._about(node.attr_path)(node.op, node.value)

    def visit_present(self, node: Present) -> Q:
        """Return the condition that there is a value."""
        return self._about(node.attr_path)(None, None)

    def visit_not(self, node: Not) -> Q:
        """Return the opposite."""
        return ~self.visit(node.expr)

    def visit_logical_expr(self, node: LogicalExpr) -> Q:
        """Return all conditions, or any."""
        terms = [self.visit(term) for term in node.terms]
        return Q(*terms, _connector=Q.AND if node.op == LogicalOperator.and_ else Q.OR)

    def visit_value_path(self, node: ValuePath) -> Q:
        """Return the condition that a value of the list is so."""
        name = node.attr_path.attr.lower()
        if name == "emails" and isinstance(node.val_filter, Comparison | Present | LogicalExpr):
            return _Visitor(_EMAIL, f"{name}.").visit(node.val_filter)
        if name in ("members", "groups") and isinstance(node.val_filter, Comparison):
            return _Visitor(self.attributes, f"{name}.").visit(node.val_filter)
        raise InvalidFilterException(detail=f"{node} cannot be searched for.")

    def _about(self, path: AttrPath) -> Condition:
        name = f"{self.inside}{path.attr}{f'.{path.sub_attr}' if path.sub_attr else ''}"
        found = self.attributes.get(name.lower())
        if found is None:
            raise InvalidFilterException(
                detail=f"{name} cannot be searched for; these can: {', '.join(sorted(self.attributes))}."
            )
        return found


def _text(column: str, *, is_exact: bool) -> Condition:
    """Compare a text that is never null, in letters of any size unless it `is_exact`; nothing is an empty text."""
    either = "" if is_exact else "i"

    def compared(op: CompareOperator | None, value: Any) -> Q:
        if op is None:
            return ~Q(**{column: ""})
        lookup = _LOOKUPS.get(op, "exact")
        text = "" if value is None else value
        if isinstance(text, str) and is_storable(text):
            found = Q(**{f"{column}__{lookup if op in _ORDERING else either + lookup}": text})
        else:
            found = NOBODY
        return ~found if op == CompareOperator.ne else found

    return compared


def _user_name(op: CompareOperator | None, value: Any) -> Q:
    return _text("username__lower", is_exact=True)(op, folded(value) if isinstance(value, str) else value)


def _of_id(column: str) -> Condition:
    def compared(op: CompareOperator | None, value: Any) -> Q:
        if op is None:
            return _EVERYBODY
        if op not in (CompareOperator.eq, CompareOperator.ne):
            raise InvalidFilterException(detail="An id is compared with eq or ne.")
        found = NOBODY if (key := identified(value)) is None else Q(**{column: key})
        return ~found if op == CompareOperator.ne else found

    return compared


def _active(op: CompareOperator | None, value: Any) -> Q:
    if op is None:
        return _EVERYBODY
    wanted = {"true": True, "false": False}.get(str(value).lower())
    if op not in (CompareOperator.eq, CompareOperator.ne) or wanted is None:
        raise InvalidFilterException(detail="active is true or false.")
    return Q(state=User.State.ACTIVE if wanted == (op == CompareOperator.eq) else User.State.SUSPENDED)


def _created(op: CompareOperator | None, value: Any) -> Q:
    if op is None:
        return _EVERYBODY
    try:
        moment = value if isinstance(value, datetime) else parse_datetime(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or op in _TEXTUAL:
        raise InvalidFilterException(detail="A time is compared with eq, ne, gt, ge, lt or le, and has its zone.")
    found = Q(**{f"created_at__{_LOOKUPS.get(op, 'exact')}": moment})
    return ~found if op == CompareOperator.ne else found


def _in_group(op: CompareOperator | None, value: Any) -> Q:
    rows = Membership.objects.filter(_of_id("group__profile__scim_id")(op, value))
    return Q(pk__in=rows.values("user"))


def _with_member(op: CompareOperator | None, value: Any) -> Q:
    rows = Membership.objects.filter(_of_id("user__scim_id")(op, value), is_external=True)
    return Q(group__in=rows.values("group"))


def _at_work(op: CompareOperator | None, value: Any) -> Q:
    """Compare the kind of the address that is searched: it is that at work."""
    if op == CompareOperator.eq and str(value).lower() == "work":
        return ~Q(email="")
    raise InvalidFilterException(detail='Of addresses only that of type "work" can be searched for.')


def identified(value: Any) -> uuid.UUID | None:
    """Return an id, or None for what is none."""
    try:
        return uuid.UUID(value)
    except (AttributeError, TypeError, ValueError):
        return None


_COMMON = {"id": _of_id("scim_id"), "externalid": _text("external_id", is_exact=True), "meta.created": _created}
_ADDRESS = _text("email", is_exact=False)
_EMAIL: Mapping[str, Condition] = {"emails.value": _ADDRESS, "emails.type": _at_work}
_ATTRIBUTES: Mapping[str, Mapping[str, Condition]] = MappingProxyType(
    {
        "User": {
            **_COMMON,
            "username": _user_name,
            "active": _active,
            "emails": _ADDRESS,
            "emails.value": _ADDRESS,
            "groups": _in_group,
            "groups.value": _in_group,
        },
        "Group": {
            **_COMMON,
            "displayname": _text("name", is_exact=False),
            "members": _with_member,
            "members.value": _with_member,
        },
    }
)
