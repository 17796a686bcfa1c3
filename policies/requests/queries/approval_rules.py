"""Approval rules as lists and by URN."""

from django.db.models import Q, QuerySet

from policies.errors import NotFound
from policies.models import ApprovalRule


def list_rules(*, q: str = "", state: str = "") -> QuerySet[ApprovalRule]:
    """Return the rules in their order, with a part of the name and of this state, if given."""
    rules = ApprovalRule.objects.all()
    if q:
        rules = rules.filter(Q(name__icontains=q) | Q(urn__icontains=q))
    return rules.filter(state=state) if state else rules


def get_rule(*, urn: str) -> ApprovalRule:
    """Return a rule; raises NotFound."""
    rule = ApprovalRule.objects.filter(urn=urn).first()
    if rule is None:
        raise NotFound(f"There is no approval rule {urn}.")
    return rule
