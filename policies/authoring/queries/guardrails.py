"""Queries of guardrails."""

from django.db.models import QuerySet

from policies.errors import NotFound
from policies.models import Guardrail
from policies.models.fields import is_storable


def list_guardrails() -> QuerySet[Guardrail]:
    """Return all guardrails by URN."""
    return Guardrail.objects.order_by("urn")


def get_guardrail(*, urn: str) -> Guardrail:
    """Return one guardrail; raises NotFound."""
    guardrail = Guardrail.objects.filter(urn=urn).first() if is_storable(urn) else None
    if guardrail is None:
        raise NotFound(f"There is no guardrail {urn!r}.")
    return guardrail
