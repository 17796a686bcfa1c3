"""Lineage: everything that data comes from or goes to, by how many steps away it is."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Min

from catalog.access.naming_permissions import Nameable
from catalog.aspects.base import DOWNSTREAM, UPSTREAM
from catalog.models import Facet
from policies.engine.model import Actor
from policies.errors import Invalid

#: Most entities that one walk visits.
MAX_ENTITIES = 10_000
#: Most steps of one walk; each is two queries.
MAX_DEGREE = 50


@dataclass(frozen=True, slots=True)
class Step:
    """How a walk reached an entity: the number of steps on the shortest way, and the entity before it on that way."""

    degree: int
    before: str


def walk_lineage(*, urn: str, is_upstream: bool, degree: int | None, by: Actor) -> dict[str, Step]:
    """Return what lies upstream or downstream of an entity, stored or not, by URN; never the entity itself.

    `degree` is the most steps, None for all there are. What may not be named to the caller is left out, and the walk
    does not go on through it. Two queries a step. Raises Invalid where there is more than MAX_ENTITIES or MAX_DEGREE.
    """
    may_name = Nameable.to(by)
    found: dict[str, Step] = {}
    frontier: Mapping[str, str] = {urn: ""}
    number = 0
    while frontier and (degree is None or number < degree):
        number += 1
        next_ones = _list_neighbours(frontier, may_name, is_upstream=is_upstream, most=MAX_ENTITIES + len(found) + 2)
        frontier = {other: near for other, near in next_ones.items() if other != urn and other not in found}
        found |= {other: Step(number, near) for other, near in frontier.items()}
        if len(found) > MAX_ENTITIES or (frontier and number > MAX_DEGREE):
            detail = (
                f"The lineage of {urn} has more than {MAX_ENTITIES} entities or {MAX_DEGREE} steps: "
                "ask for a degree of 1 or 2, or begin nearer to what you look for."
            )
            raise Invalid.one(code="lineage.large", pointer="/input/urn", detail=detail)
    return found


def list_path(found: Mapping[str, Step], urn: str) -> list[str]:
    """Return the URNs on the shortest way to an entity that a walk found, from where the walk began to the entity."""
    path = [urn]
    while (step := found.get(path[-1])) is not None:
        path.append(step.before)
    return path[::-1]


def _list_neighbours(urns: Collection[str], may_name: Nameable, *, is_upstream: bool, most: int) -> dict[str, str]:
    """Return neighbour → the first of these entities that it is a neighbour of; at most so many of each kind."""
    found: dict[str, str] = {}
    for field in (UPSTREAM, DOWNSTREAM):
        near, far = "entity__urn", "value"
        if is_upstream == (field == DOWNSTREAM):
            near, far = far, near
        rows = Facet.objects.filter(may_name.condition(far), field=field, **{f"{near}__among": list(urns)})
        pairs = rows.order_by().values_list(far).annotate(first=Min(near)).order_by(far)
        for other, first in pairs[:most]:
            found[other] = min(first, found.get(other, first))
    return found
