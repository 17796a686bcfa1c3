"""What reports found wrong, as lists: the worst first."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db.models import Case, Count, IntegerField, QuerySet, Value, When

from catalog.models import Finding
from catalog.queries.viewing import hidden
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.models.fields import is_storable
from policies.models.words import words

#: What still waits for somebody.
WAITING = (Finding.State.OPEN, Finding.State.ASSIGNED)

_RANK = Case(
    *(When(severity=severity, then=Value(rank)) for rank, severity in enumerate(Finding.Severity.values)),
    output_field=IntegerField(),
)


def findings(
    *,
    kind: str = "",
    type: str = "",
    severity: str = "",
    states: Collection[str] = (),
    assignee: str = "",
    text: str = "",
) -> QuerySet[Finding]:
    """Return findings, the worst first, narrowed by everything given; each word of the text is in the sentence."""
    said = {"kind": kind, "type": type, "severity": severity, "assignee": assignee}
    found = Finding.objects.filter(**{name: value for name, value in said.items() if value})
    if states:
        found = found.filter(state__in=states)
    if not is_storable(text):
        return found.none()
    for word in words(text):
        found = found.filter(sentence__icontains=word)
    return found.order_by(_RANK, "kind", "key")


def finding(*, id: int) -> Finding:
    """Return a finding with the runs that saw it first and last. Raises NotFound."""
    found = Finding.objects.select_related("first_seen", "last_seen").filter(pk=id).first()
    if found is None:
        raise NotFound(f"There is no finding {id}.")
    return found


def types() -> Mapping[str, int]:
    """Return what is wrong, in order, each with how often it still waits."""
    counted = Finding.objects.filter(state__in=WAITING).order_by("type").values_list("type").annotate(Count("pk"))
    return dict(counted)


def concealed(*, findings: Iterable[Finding], by: Actor) -> frozenset[int]:
    """Return the numbers of those findings that name something their reader may not view; one question for all."""
    named = {one.pk: {text for text in one.values.values() if _is_urn(text)} for one in findings}
    gone = hidden(urns={urn for urns in named.values() for urn in urns}, by=by)
    return frozenset(number for number, urns in named.items() if urns & gone)


def _is_urn(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("urn:li:")
