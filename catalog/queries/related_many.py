"""The relationships of many entities at once, a page of each."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, F, Window
from django.db.models.functions import DenseRank

from catalog.queries.relationships import Page, Related, bonds, concealed
from policies.engine.model import Actor
from policies.models.fields import storable


def related_many(
    *, urns: Collection[str], is_incoming: bool, names: Collection[str], start: int, count: int, by: Actor
) -> dict[str, Page]:
    """Return a page of what each of these entities is related to, as `related` does for one.

    Two queries for each kind of relationship that is asked for, and those of what the caller may view.
    """
    totals: defaultdict[str, int] = defaultdict(int)
    found: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for name, rows, near, far in bonds(urns=storable(urns), is_incoming=is_incoming):
        if names and name not in names:
            continue
        plain = rows.order_by()
        for urn, number in plain.values_list(near).annotate(number=Count(far, distinct=True)):
            totals[urn] += number
        ranked = plain.annotate(rank=Window(DenseRank(), partition_by=F(near), order_by=F(far).asc()))
        for urn, other in ranked.filter(rank__lte=start + count).values_list(near, far):
            found[urn].add((name, other))
    pages = {urn: [Related(*one) for one in sorted(found[urn])[start : start + count]] for urn in urns}
    hidden = concealed(urns={one.urn for page in pages.values() for one in page}, by=by)
    return {
        urn: Page(totals[urn], len(page), tuple(one for one in page if one.urn not in hidden))
        for urn, page in pages.items()
    }
