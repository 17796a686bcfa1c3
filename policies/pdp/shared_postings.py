"""Entities that several comparisons in a row share: what takes longest of each is to read them."""

from collections.abc import Collection
from dataclasses import dataclass, field

from policies.engine.ports import PostingsSource
from policies.engine.postings import Postings
from policies.engine.selectors import URN, Condition, Selector

#: From so many selectors on that name no entities, the catalog is read at once, for all comparisons.
_MANY_SELECTORS = 3


@dataclass(slots=True)
class SharedPostings:
    """A source of postings that reads the whole catalog once, with these fields at least, where much of it is wanted.

    Comparisons get more entities than they asked for then, which they find unchanged.
    """

    source: PostingsSource
    fields: Collection[str]
    _whole: Postings | None = None
    _is_too_large: bool = field(default=False)

    def load_postings(
        self, *, covering: Collection[Selector], fields: Collection[str], limit: int, with_people: bool
    ) -> Postings | None:
        """Return the entities that one of the selectors covers, or all; None for more than `limit` of those covered."""
        wide_count = sum(not _names_entities(selector) for selector in covering)
        is_wide = wide_count >= _MANY_SELECTORS or (wide_count > 0 and self._whole is not None)
        whole = self._find_whole(frozenset(fields), limit) if is_wide and with_people else None
        if whole is not None:
            return whole
        return self.source.load_postings(covering=covering, fields=fields, limit=limit, with_people=with_people)

    def load_sample(self, *, covering: Collection[Selector], fields: Collection[str], limit: int) -> Postings:
        """Return the first of the entities that one of the selectors covers."""
        return self.source.load_sample(covering=covering, fields=fields, limit=limit)

    def _find_whole(self, fields: frozenset[str], limit: int) -> Postings | None:
        """Return everything with these fields at least; None if it is too much."""
        if self._is_too_large or (self._whole is not None and fields <= self._whole.fields):
            return self._whole
        self._whole = self.source.load_postings(
            covering=(Selector(needs_resource=True),), fields=fields.union(self.fields), limit=limit, with_people=True
        )
        self._is_too_large = self._whole is None
        return self._whole


def _names_entities(selector: Selector) -> bool:
    return any(criterion.field == URN and criterion.condition is Condition.EQUALS for criterion in selector.criteria)
