"""Active policies: the ones that take part in decisions."""

from django.db.models import Exists, OuterRef, QuerySet

from policies.engine.families.validity import Phase
from policies.engine.selectors import EVERYONE
from policies.models import Policy, PolicyEffect, PolicyFacet


def list_active_policies() -> QuerySet[Policy]:
    """Return the policies that take part in decisions, ordered by URN: active ones, in the time of their validity."""
    return Policy.objects.filter(state=Policy.State.ACTIVE, phase=Phase.CURRENT).order_by("urn")


def is_open_to_everybody() -> bool:
    """Whether an active policy gives every user MANAGE_POLICIES, which amounts to every privilege; pages warn then."""
    rows = list_active_policies()
    facet_values = (
        (PolicyFacet.Field.ACTOR, EVERYONE),
        (PolicyFacet.Field.PRIVILEGE, "MANAGE_POLICIES"),
        (PolicyFacet.Field.EFFECT, PolicyEffect.ALLOW),
    )
    for field, value in facet_values:
        rows = rows.filter(Exists(PolicyFacet.objects.filter(policy=OuterRef("pk"), field=field, value=value)))
    return rows.exists()
