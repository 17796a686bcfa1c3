"""What reports found wrong, as lists: the worst first."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Min, Q, QuerySet, TextField, Value, When, Window
from django.db.models.functions import Cast, RowNumber

from catalog.access.view_permissions import hidden
from catalog.models import Finding, FindingEvent
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

#: What equal findings have in common. One that has no subject is equal to no other.
_ALIKE = ("severity", "kind", "type", "about", "state", "assignee")
_ABOUT = Case(When(subject="", then=Cast("key", TextField())), default=Cast("subject", TextField()))

#: How many events of a finding are told at most, the newest ones.
TRAIL_LENGTH = 200


def findings(
    *,
    kind: str = "",
    type: str = "",
    severity: str = "",
    states: Collection[str] = (),
    assignee: str = "",
    subject: str = "",
    text: str = "",
) -> QuerySet[Finding]:
    """Return findings, the worst first, narrowed by everything given; each word of the text is in the sentence."""
    said = {"kind": kind, "type": type, "severity": severity, "assignee": assignee, "subject": subject}
    found = Finding.objects.filter(**{name: value for name, value in said.items() if value})
    if states:
        found = found.filter(state__in=states)
    if not is_storable(text):
        return found.none()
    for word in words(text):
        found = found.filter(sentence__icontains=word)
    return found.order_by(_RANK, "kind", "key")


def group_findings(found: QuerySet[Finding]) -> QuerySet[Finding, dict[str, Any]]:
    """Return groups of equal findings, the worst first: what they have in common, `count`, `since` and `first`.

    Equal are findings of one kind and type about the same subject, with the same severity, state and assignee. `about`
    is that subject, or the key of the only one; `first` the lowest number among them.
    """
    alike = found.order_by().annotate(about=_ABOUT).values(*_ALIKE)
    counted = alike.annotate(count=Count("pk"), first=Min("pk"), since=Min("first_seen_at"))
    groups: QuerySet[Finding, dict[str, Any]] = counted.order_by(_RANK, *_ALIKE[1:])
    return groups


def list_members(
    found: QuerySet[Finding], groups: Sequence[Mapping[str, Any]], *, limit: int
) -> dict[int, list[Finding]]:
    """Return the first few findings of each of these groups, by the group's `first`; one query for all of them."""
    if not groups:
        return {}
    place = Window(RowNumber(), partition_by=[F(name) for name in _ALIKE], order_by=F("pk").asc())
    members = found.order_by().annotate(about=_ABOUT, place=place).filter(_among(groups), place__lte=limit)
    first = {tuple(group[name] for name in _ALIKE): group["first"] for group in groups}
    listed: dict[int, list[Finding]] = {number: [] for number in first.values()}
    for one in members.order_by("pk"):
        listed[first[tuple(getattr(one, name) for name in _ALIKE)]].append(one)
    return listed


def list_group_ids(found: QuerySet[Finding], *, firsts: Collection[int]) -> list[int]:
    """Return the numbers of all findings that are equal to one of these, among those found."""
    alike = found.order_by().annotate(about=_ABOUT)
    groups = list(alike.filter(pk__among=firsts).values(*_ALIKE))
    return list(alike.filter(_among(groups)).values_list("pk", flat=True)) if groups else []


def list_trail(*, finding: Finding) -> list[FindingEvent]:
    """Return what was decided about a finding, the newest first; TRAIL_LENGTH events at most."""
    return list(FindingEvent.objects.filter(finding=finding).select_related("report").order_by("-pk")[:TRAIL_LENGTH])


def _among(groups: Iterable[Mapping[str, Any]]) -> Q:
    return reduce(or_, (Q(**{name: group[name] for name in _ALIKE}) for group in groups))


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
