"""Lists of findings, the highest severity first."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Min, Q, QuerySet, TextField, Value, When, Window
from django.db.models.functions import Cast, RowNumber

from catalog.access.view_permissions import find_hidden
from catalog.models import Finding, FindingEvent
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.models.fields import is_storable
from policies.models.words import split_words

#: States in which a finding waits for a decision or a repair.
WAITING_STATES = (Finding.State.OPEN, Finding.State.ASSIGNED)

_SEVERITY_RANK = Case(
    *(When(severity=severity, then=Value(rank)) for rank, severity in enumerate(Finding.Severity.values)),
    output_field=IntegerField(),
)

#: Columns in which equal findings agree. A finding without a subject has no equals.
_GROUP_COLUMNS = ("severity", "kind", "type", "about", "state", "assignee")
_SUBJECT_OR_KEY = Case(When(subject="", then=Cast("key", TextField())), default=Cast("subject", TextField()))

#: Maximum number of events of a trail, the newest ones.
TRAIL_LENGTH = 200


def list_findings(
    *,
    kind: str = "",
    type: str = "",
    severity: str = "",
    states: Collection[str] = (),
    assignee: str = "",
    subject: str = "",
    text: str = "",
) -> QuerySet[Finding]:
    """Return findings, the highest severity first, that match all filters; each word of the text is in the sentence."""
    column_filters = {"kind": kind, "type": type, "severity": severity, "assignee": assignee, "subject": subject}
    findings = Finding.objects.filter(**{name: value for name, value in column_filters.items() if value})
    if states:
        findings = findings.filter(state__in=states)
    if not is_storable(text):
        return findings.none()
    for word in split_words(text):
        findings = findings.filter(sentence__icontains=word)
    return findings.order_by(_SEVERITY_RANK, "kind", "key")


def group_findings(findings: QuerySet[Finding]) -> QuerySet[Finding, dict[str, Any]]:
    """Return groups of equal findings, the highest severity first: their common columns, `count`, `since` and `first`.

    Findings are equal when they have the same kind, type, subject, severity, state and assignee. `about` is that
    subject, or the key of a finding without one; `first` the lowest id in the group.
    """
    by_group = findings.order_by().annotate(about=_SUBJECT_OR_KEY).values(*_GROUP_COLUMNS)
    group_counts = by_group.annotate(count=Count("pk"), first=Min("pk"), since=Min("first_seen_at"))
    groups: QuerySet[Finding, dict[str, Any]] = group_counts.order_by(_SEVERITY_RANK, *_GROUP_COLUMNS[1:])
    return groups


def list_members(
    findings: QuerySet[Finding], groups: Sequence[Mapping[str, Any]], *, limit: int
) -> dict[int, list[Finding]]:
    """Return up to `limit` findings of each group, as id of its first finding -> findings (one query)."""
    if not groups:
        return {}
    row_number = Window(RowNumber(), partition_by=[F(name) for name in _GROUP_COLUMNS], order_by=F("pk").asc())
    members = (
        findings.order_by()
        .annotate(about=_SUBJECT_OR_KEY, place=row_number)
        .filter(_match_any_group(groups), place__lte=limit)
    )
    first_id_by_group = {tuple(group[name] for name in _GROUP_COLUMNS): group["first"] for group in groups}
    members_by_first_id: dict[int, list[Finding]] = {first_id: [] for first_id in first_id_by_group.values()}
    for member in members.order_by("pk"):
        members_by_first_id[first_id_by_group[tuple(getattr(member, name) for name in _GROUP_COLUMNS)]].append(member)
    return members_by_first_id


def list_group_ids(findings: QuerySet[Finding], *, first_ids: Collection[int]) -> list[int]:
    """Return the ids of all findings that are equal to one of `first_ids`, among `findings`."""
    candidates = findings.order_by().annotate(about=_SUBJECT_OR_KEY)
    groups = list(candidates.filter(pk__among=first_ids).values(*_GROUP_COLUMNS))
    return list(candidates.filter(_match_any_group(groups)).values_list("pk", flat=True)) if groups else []


def list_trail(*, finding: Finding) -> list[FindingEvent]:
    """Return the decisions about a finding, the newest first; TRAIL_LENGTH events at most."""
    return list(FindingEvent.objects.filter(finding=finding).select_related("report").order_by("-pk")[:TRAIL_LENGTH])


def _match_any_group(groups: Iterable[Mapping[str, Any]]) -> Q:
    return reduce(or_, (Q(**{name: group[name] for name in _GROUP_COLUMNS}) for group in groups))


def get_finding(*, id: int) -> Finding:
    """Return a finding with the runs of its first and last sighting. Raises NotFound."""
    finding = Finding.objects.select_related("first_seen", "last_seen").filter(pk=id).first()
    if finding is None:
        raise NotFound(f"There is no finding {id}.")
    return finding


def count_waiting_by_type() -> Mapping[str, int]:
    """Return the number of waiting findings of each type, sorted by type."""
    counts = Finding.objects.filter(state__in=WAITING_STATES).order_by("type").values_list("type").annotate(Count("pk"))
    return dict(counts)


def find_concealed(*, findings: Iterable[Finding], by: Actor) -> frozenset[int]:
    """Return the ids of findings that name an entity the caller may not view; one check of permissions for all."""
    urns_by_id = {finding.pk: set(_iterate_urns(finding.values)) for finding in findings}
    hidden_urns = find_hidden(urns={urn for urns in urns_by_id.values() for urn in urns}, by=by)
    return frozenset(finding_id for finding_id, urns in urns_by_id.items() if urns & hidden_urns)


def redact(*, findings: Iterable[Finding], by: Actor) -> list[Finding]:
    """Return findings to be shown: one that the caller may not view in full keeps nothing that names the entity."""
    findings = list(findings)
    concealed_ids = find_concealed(findings=findings, by=by)
    for finding in findings:
        finding.is_concealed = finding.pk in concealed_ids
        if finding.is_concealed:
            finding.values = {}
            for name in ("key", "sentence", "repair", "subject"):
                setattr(finding, name, None)
    return findings


def _iterate_urns(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the URNs in the values of a finding, of which a column may hold several, one a line."""
    for value in values.values():
        if isinstance(value, str) and value.startswith("urn:li:"):
            yield from value.split("\n")
