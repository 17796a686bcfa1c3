"""The relationships of many entities at once, a page of each."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, F, TextField, Value, Window
from django.db.models.functions import Concat, DenseRank

from catalog.access.naming_permissions import Nameable
from catalog.access.relationships import Page, Related, bonds
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
    may_name = Nameable.to(by)
    for bond in bonds(urns=storable(urns), is_incoming=is_incoming, names=names):
        plain, near, far = bond.named(may_name), bond.near, bond.far
        # No name holds a blank, so that each of these texts is one relationship.
        each = Concat("relationship", Value(" "), far, output_field=TextField())
        for urn, number in plain.values_list(near).annotate(number=Count(each, distinct=True)):
            totals[urn] += number
        order = [F("relationship").asc(), F(far).asc()]
        ranked = plain.annotate(rank=Window(DenseRank(), partition_by=F(near), order_by=order))
        for urn, name, other in ranked.filter(rank__lte=start + count).values_list(near, "relationship", far):
            found[urn].add((name, other))
    pages = {urn: [Related(*one) for one in sorted(found[urn])[start : start + count]] for urn in urns}
    return {urn: Page(totals[urn], tuple(page)) for urn, page in pages.items()}
