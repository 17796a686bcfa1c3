"""Queries of policies and their versions."""

from collections.abc import Collection, Iterator

from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import StrIndex, Upper
from django.db.models.lookups import GreaterThan

from policies.engine import families
from policies.engine.errors import Problem
from policies.errors import NotFound
from policies.models import Policy, PolicyEvent, PolicyFacet
from policies.models.fields import is_storable

_CHUNK_SIZE = 500


def list_policies(
    *,
    q: str = "",
    family: str | None = None,
    type: str | None = None,
    state: str | None = None,
    effect: str | None = None,
    privilege: str | None = None,
    actor: str | None = None,
    excluded: str | None = None,
    resource: str | None = None,
) -> QuerySet[Policy]:
    """Return policies by URN, each filter narrowing (api.md section 3).

    `q` is searched in name and description. `privilege`, `actor`, `excluded` and `resource` must equal a term of the
    document: a wildcard that covers a privilege does not match it. `actor` finds the policies that name a user, group
    or role as one whom they reach, `excluded` those that name it as one whom they do not.
    """
    rows = Policy.objects.order_by("urn")
    columns = {"family": family, "type": type, "state": state}
    facet_values = (
        (PolicyFacet.Field.EFFECT, effect),
        (PolicyFacet.Field.PRIVILEGE, privilege),
        (PolicyFacet.Field.ACTOR, actor),
        (PolicyFacet.Field.EXCEPTION, excluded),
        (PolicyFacet.Field.RESOURCE, resource),
    )
    filter_texts = (q, *columns.values(), *(value for _, value in facet_values))
    if not all(is_storable(text) for text in filter_texts if text):
        return rows.none()
    if q:
        rows = rows.filter(_contains("name", q) | _contains("description", q))
    rows = rows.filter(**{column: value for column, value in columns.items() if value})
    for field, value in facet_values:
        if value:
            facets = PolicyFacet.objects.filter(policy=OuterRef("pk"), field=field, value=value)
            rows = rows.filter(Exists(facets))
    return rows


def _contains(column: str, text: str) -> Q:
    """Return the condition of `icontains`, but not as LIKE: PostgreSQL takes for granted that few rows are like a text
    in upper case, and then looks up every policy's privilege by itself.
    """
    return Q(GreaterThan(StrIndex(Upper(column), Upper(Value(text))), 0))


def get_policy(*, urn: str) -> Policy:
    """Return one policy; raises NotFound."""
    if not is_storable(urn):
        raise NotFound(f"There is no policy {urn!r}.")
    try:
        return Policy.objects.get(urn=urn)
    except Policy.DoesNotExist:
        raise NotFound(f"There is no policy {urn!r}.") from None


def find_policies(*, urns: Collection[str]) -> QuerySet[Policy]:
    """Return the stored policies among these URNs, by URN."""
    return Policy.objects.filter(urn__in=urns).order_by("urn")


def iterate_unknown_fields() -> Iterator[tuple[str, tuple[Problem, ...]]]:
    """Yield (URN, problems) for each policy with fields that are unknown here and keep it INACTIVE, by URN."""
    rows = Policy.objects.exclude(state=Policy.State.ACTIVE).order_by("urn").only("urn", "family", "document")
    for policy in rows.iterator(chunk_size=_CHUNK_SIZE):
        if problems := families.get(policy.family).unknown_fields(policy.document):
            yield policy.urn, problems


def list_versions(*, urn: str) -> QuerySet[PolicyEvent]:
    """Return the events of a policy, newest first, also of a deleted one."""
    rows = PolicyEvent.objects.order_by("-id")
    return rows.filter(policy_urn=urn) if is_storable(urn) else rows.none()
