"""Rebuild of the whole projection from the documents, which proves that it can be derived."""

from collections import defaultdict
from collections.abc import Callable, Mapping

from catalog.aspects.base import FacetValue
from catalog.aspects.register import PROJECTED_ASPECTS
from catalog.ingest import hierarchy_closure
from catalog.ingest.hidden_references import load_hidden
from catalog.ingest.write_set import project_entity, write_facets
from catalog.models import Aspect, Entity, Facet
from policies.models import Gate, PolicyVersion, open_write

_CHUNK_SIZE = 1000


def rebuild(*, on_progress: Callable[[int], None] = lambda _: None) -> int:
    """Rebuild every facet, ancestry and projected column, in one transaction; return the number of entities.

    `on_progress` is called with the number done so far, after each chunk.
    """
    with open_write(Gate.CATALOG):
        PolicyVersion.touch_everything()
        hidden_facets = load_hidden()
        Facet.objects.all().delete()
        done_count, last_pk = 0, 0
        while rows := list(Entity.objects.filter(pk__gt=last_pk).order_by("pk")[:_CHUNK_SIZE]):
            _project(rows, hidden_facets)
            done_count, last_pk = done_count + len(rows), rows[-1].pk
            on_progress(done_count)
        hierarchy_closure.rebuild()
    return done_count


def _project(entities: list[Entity], hidden_facets: Mapping[int, frozenset[FacetValue]]) -> None:
    documents: dict[int, dict[str, str]] = defaultdict(dict)
    rows = Aspect.objects.filter(
        entity_id__among=[entity.pk for entity in entities], name__among=sorted(PROJECTED_ASPECTS), version=0
    ).order_by()
    for entity_id, name, text in rows.values_list("entity_id", "name", "document"):
        documents[entity_id][name] = text
    facets = {entity.pk: project_entity(entity, documents[entity.pk]) for entity in entities}
    Entity.objects.bulk_update(entities, ["name", "parent", "is_removed"], batch_size=200)
    write_facets(
        existing_ids=[],
        facets=facets,
        hidden={entity.pk: hidden_facets[entity.pk] for entity in entities if entity.pk in hidden_facets},
    )
