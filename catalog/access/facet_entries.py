"""Ids of entities with values of facets: many lists, read by one statement from the index of values alone.

Such a row costs PostgreSQL a tenth of what an entity does, which it would have to fetch and test. In statements about
what somebody owns a list may have any length, since only what she owns is read of it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pyroaring import FrozenBitMap64

from policies.engine import selectors
from policies.models.fields import filter_storable
from policies.models.prepared_statements import PreparedStatement

#: Maximum number of entries of one list that is read, of all lists together, and of entities that somebody owns.
MAX_ENTRIES, MAX_TOTAL_ENTRIES, MAX_OWNED = 30_000, 60_000, 30_000

_ANY_TYPE = ""
_ALL, _OWNED = "all", "owned"

_HIERARCHICAL_SQL = "('" + "', '".join(sorted(selectors.HIERARCHICAL_FIELDS)) + "')"
_ENTRY_SQL = "facet.field = wanted.field AND facet.value = wanted.value AND wanted.type IN ('', facet.type)"

# Parameters: the number of a list, field, value, type of owners and scope for each value; whose entities are owned. A
# value has one entry more than is read at most, so that one long list does not leave the others without theirs.
_STATEMENT = PreparedStatement(
    f"""
    WITH asked AS MATERIALIZED (SELECT number, field, value, type, scope FROM {{rows}}),
    wanted AS MATERIALIZED (
        SELECT number, field, value, type, scope FROM asked
        UNION
        SELECT asked.number, asked.field, ancestry.node, asked.type, asked.scope
        FROM asked JOIN catalog_ancestry ancestry ON ancestry.ancestor = asked.value
        WHERE asked.field IN {_HIERARCHICAL_SQL}),
    owned AS MATERIALIZED (
        SELECT DISTINCT entity_id FROM catalog_facet WHERE field = '{selectors.OWNER}' AND value {{among}}
        LIMIT {MAX_OWNED + 1:d}),
    entries AS (
        SELECT number, entity_id FROM (
            SELECT wanted.number, facet.entity_id FROM wanted {{listed}}
            WHERE wanted.scope = '{_ALL}' {{list_condition}} LIMIT {MAX_TOTAL_ENTRIES + 1:d}) listed
        UNION ALL
        SELECT wanted.number, facet.entity_id FROM wanted {{searched}}
        WHERE wanted.scope = '{_OWNED}' {{list_condition}}
        AND (facet.entity_id IN (SELECT entity_id FROM owned)) IS TRUE)
    SELECT number, {{join}}(CAST(entity_id AS text), ',') FROM entries GROUP BY number""",  # noqa: S608 - no value is part of the text
    {
        "postgresql": {
            "rows": "unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::text[]) "
            "AS rows(number, field, value, type, scope)",
            "listed": f"CROSS JOIN LATERAL (SELECT entity_id FROM catalog_facet facet WHERE {_ENTRY_SQL} "  # noqa: S608
            f"LIMIT {MAX_ENTRIES + 1:d}) facet",
            "list_condition": "",
            "searched": f"CROSS JOIN LATERAL (SELECT entity_id FROM catalog_facet facet WHERE {_ENTRY_SQL} "  # noqa: S608
            "OFFSET 0) facet",
        },
        "sqlite": {
            "rows": "(SELECT numbers.value AS number, fields.value AS field, texts.value AS value, "
            "types.value AS type, scopes.value AS scope FROM json_each(%s) numbers "
            "JOIN json_each(%s) fields USING (key) JOIN json_each(%s) texts USING (key) "
            "JOIN json_each(%s) types USING (key) JOIN json_each(%s) scopes USING (key))",
            "listed": "CROSS JOIN catalog_facet facet",
            "list_condition": f"AND {_ENTRY_SQL}",
            "searched": "CROSS JOIN catalog_facet facet",
        },
    },
)


@dataclass(frozen=True, slots=True)
class FacetList:
    """Entities with one of these values of a facet, hierarchies closed.

    Of owners, only those of some types ('' for any). With `is_owned`, only entities that the asked holders own.
    """

    field: str
    values: frozenset[str]
    types: frozenset[str] = frozenset((_ANY_TYPE,))
    is_owned: bool = False


def read_facet_lists(
    facet_lists: Collection[FacetList], holders: Collection[str] = (), max_entries: int = MAX_ENTRIES
) -> dict[FacetList, FrozenBitMap64 | None]:
    """Return the ids on each list, None for one with too many entries; one query, none without lists.

    When all lists together have too many entries, none is read; when the holders own too much, none of what they own.
    """
    owned_list = FacetList(selectors.OWNER, frozenset(holders))
    numbered_lists = list(
        {*facet_lists, owned_list} if any(facet_list.is_owned for facet_list in facet_lists) else facet_lists
    )
    rows = [
        (str(number), facet_list.field, value, type_, _OWNED if facet_list.is_owned else _ALL)
        for number, facet_list in enumerate(numbered_lists)
        for value in filter_storable(facet_list.values)
        for type_ in sorted(facet_list.types)
    ]
    if not rows:
        return dict.fromkeys(facet_lists, FrozenBitMap64())
    columns: list[list[str]] = [list(column) for column in zip(*rows, strict=True)]
    texts = dict(_STATEMENT.fetch_rows([*columns, filter_storable(holders) if owned_list in numbered_lists else []]))
    ids_by_list = {facet_list: _split(texts.get(str(number), "")) for number, facet_list in enumerate(numbered_lists)}
    # Entries are counted as they were read: an entity with two values of a list is two of those that were cut off.
    total = sum(len(ids) for facet_list, ids in ids_by_list.items() if not facet_list.is_owned)
    if total > MAX_TOTAL_ENTRIES:
        return dict.fromkeys(facet_lists)
    owns_too_much = len(ids_by_list.get(owned_list, ())) > MAX_OWNED
    return {
        facet_list: None
        if len(ids_by_list[facet_list]) > max_entries or (facet_list.is_owned and owns_too_much)
        else FrozenBitMap64(ids_by_list[facet_list])
        for facet_list in facet_lists
    }


def _split(text: str) -> list[int]:
    return list(map(int, text.split(","))) if text else []
