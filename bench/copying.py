"""Puts a catalog of `bench.worlds` into PostgreSQL with COPY: a million entities take minutes and not hours."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from django.core.management.color import no_style
from django.db import connection
from django.db.models import Max
from django.utils import timezone

from bench import filling, snapshots
from bench.worlds import Company
from catalog.aspects.facet_fields import WORD
from catalog.models import Entity, Facet
from policies.pdp.log import bulk_insert

#: The index that is made again afterwards, which is quicker than keeping it while rows come.
_INDEX = "facet_by_value"

_ENTITY = ("id", "urn", "type", "name", "parent", "is_removed", "created_at", "updated_at")
_FACET = ("entity", "field", "value", "type")


def things(company: Company) -> None:
    """Store every entity, its words and all facets of its snapshot (`bench.snapshots`); the nodes above are there."""
    facet = Facet._meta.db_table
    first = Entity.objects.aggregate(last=Max("id", default=0))["last"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = %s", [_INDEX])
        made_by = cursor.fetchone()[0]
        cursor.execute(f"DROP INDEX {_INDEX}")
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        # Every facet is of an entity that this wrote, which need not be looked up again.
        cursor.execute(f"ALTER TABLE {facet} DISABLE TRIGGER ALL")
        bulk_insert.insert_rows(Entity, _ENTITY, _entities(company, first))
        bulk_insert.insert_rows(Facet, _FACET, _facets(company, first))
        cursor.execute(f"ALTER TABLE {facet} ENABLE TRIGGER ALL")
        cursor.execute(made_by)
        for sequence in connection.ops.sequence_reset_sql(no_style(), [Entity]):
            cursor.execute(sequence)


def _entities(company: Company, first: int) -> Iterator[tuple[Any, ...]]:
    now = timezone.now()
    for number, thing in enumerate(company.things(), start=first + 1):
        yield number, thing.urn, thing.type, thing.urn.split(",")[1], thing.schema, False, now, now


def _facets(company: Company, first: int) -> Iterator[tuple[Any, ...]]:
    of_each = groupby(snapshots.facets(company), key=lambda row: row[0])
    for thing, (number, several) in zip(company.things(), of_each, strict=True):
        yield from ((first + number, *row[1:]) for row in dict.fromkeys(several))
        yield from ((first + number, WORD, word, "") for word in dict.fromkeys(filling.list_words(thing)))
