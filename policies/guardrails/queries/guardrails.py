"""Queries of guardrails."""

from django.db.models import Q, QuerySet

from policies.errors import NotFound
from policies.models import Guardrail
from policies.models.fields import is_storable


def list_guardrails(*, q: str = "", mode: str = "", status: str = "") -> QuerySet[Guardrail]:
    """Return guardrails by URN, each filter narrowing; `q` is searched in name and description.

    A guardrail that is off has no status.
    """
    rows = Guardrail.objects.order_by("urn")
    if not is_storable(q):
        return rows.none()
    if q:
        rows = rows.filter(Q(name__icontains=q) | Q(description__icontains=q))
    if mode:
        rows = rows.filter(mode=mode)
    return rows.filter(status=status).exclude(mode=Guardrail.Mode.OFF) if status else rows


def get_guardrail(*, urn: str) -> Guardrail:
    """Return one guardrail; raises NotFound."""
    guardrail = Guardrail.objects.filter(urn=urn).first() if is_storable(urn) else None
    if guardrail is None:
        raise NotFound(f"There is no guardrail {urn!r}.")
    return guardrail
