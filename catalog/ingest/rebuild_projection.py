"""Throws the projection away and makes it again from the documents, which proves that it can be."""

from collections import defaultdict
from collections.abc import Callable

from catalog.aspects.register import PROJECTING
from catalog.ingest import hierarchy_closure
from catalog.ingest.write_set import project_entity, write_facets
from catalog.models import Aspect, Entity, Facet
from policies.models import Gate, PolicyVersion, open_write

_CHUNK = 1000


def rebuild(*, progress: Callable[[int], None] = lambda _: None) -> int:
    """Make every facet, ancestry and projected column anew, in one transaction; return the number of entities.

    `progress` hears the number done so far, now and then.
    """
    with open_write(Gate.CATALOG):
        PolicyVersion.touch_everything()
        Facet.objects.all().delete()
        done, last = 0, 0
        while rows := list(Entity.objects.filter(pk__gt=last).order_by("pk")[:_CHUNK]):
            _project(rows)
            done, last = done + len(rows), rows[-1].pk
            progress(done)
        hierarchy_closure.rebuild()
    return done


def _project(entities: list[Entity]) -> None:
    documents: dict[int, dict[str, str]] = defaultdict(dict)
    rows = Aspect.objects.filter(
        entity_id__among=[entity.pk for entity in entities], name__among=sorted(PROJECTING), version=0
    ).order_by()
    for number, name, text in rows.values_list("entity_id", "name", "document"):
        documents[number][name] = text
    facets = {entity.pk: project_entity(entity, documents[entity.pk]) for entity in entities}
    Entity.objects.bulk_update(entities, ["name", "parent", "is_removed"], batch_size=200)
    write_facets(known=[], facets=facets)
