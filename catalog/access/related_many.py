"""Relationships of many entities at once, one page each."""

from collections import defaultdict
from collections.abc import Collection

from django.db.models import Count, F, TextField, Value, Window
from django.db.models.functions import Concat, DenseRank

from catalog.access.naming_permissions import NamingPermissions
from catalog.access.relationships import RelatedEntity, RelationshipPage, list_relationship_rows
from policies.engine.model import Actor
from policies.models.fields import filter_storable


def list_related_many(
    *, urns: Collection[str], is_incoming: bool, names: Collection[str], start: int, count: int, by: Actor
) -> dict[str, RelationshipPage]:
    """Return URN -> a page of its relationships, as `list_related` does for one entity.

    Two queries for each source of relationships, plus those of the naming permissions.
    """
    totals: defaultdict[str, int] = defaultdict(int)
    pairs_by_urn: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    nameable = NamingPermissions.load(by)
    for source in list_relationship_rows(urns=filter_storable(urns), is_incoming=is_incoming, names=names):
        rows, near_path, far_path = source.filter_nameable(nameable), source.near_path, source.far_path
        # No name contains a blank, so each of these texts identifies one relationship.
        relationship_key = Concat("relationship", Value(" "), far_path, output_field=TextField())
        for urn, number in rows.values_list(near_path).annotate(number=Count(relationship_key, distinct=True)):
            totals[urn] += number
        order = [F("relationship").asc(), F(far_path).asc()]
        ranked_rows = rows.annotate(rank=Window(DenseRank(), partition_by=F(near_path), order_by=order))
        for urn, name, other_urn in ranked_rows.filter(rank__lte=start + count).values_list(
            near_path, "relationship", far_path
        ):
            pairs_by_urn[urn].add((name, other_urn))
    pages = {urn: [RelatedEntity(*pair) for pair in sorted(pairs_by_urn[urn])[start : start + count]] for urn in urns}
    return {urn: RelationshipPage(totals[urn], tuple(page)) for urn, page in pages.items()}
