"""Lineage: all upstream or downstream entities with their distance in steps."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Min

from catalog.access.naming_permissions import NamingPermissions
from catalog.aspects.facet_fields import DOWNSTREAM, UPSTREAM
from catalog.models import Facet
from policies.engine.model import Actor
from policies.errors import Invalid

#: Maximum number of entities of one walk.
MAX_ENTITIES = 10_000
#: Maximum number of steps of one walk; each takes two queries.
MAX_DEGREE = 50


@dataclass(frozen=True, slots=True)
class LineageStep:
    """Position of an entity in a walk: steps of the shortest path, and the entity before it on that path."""

    degree: int
    previous: str


def walk_lineage(*, urn: str, is_upstream: bool, degree: int | None, by: Actor) -> dict[str, LineageStep]:
    """Return the entities upstream or downstream of an entity, stored or not, by URN; never the entity itself.

    `degree` is the maximum number of steps, None for no limit. Entities that may not be named to the caller are left
    out and not walked through. Two queries a step. Raises Invalid beyond MAX_ENTITIES or MAX_DEGREE.
    """
    nameable = NamingPermissions.load(by)
    steps: dict[str, LineageStep] = {}
    frontier: Mapping[str, str] = {urn: ""}
    step_count = 0
    while frontier and (degree is None or step_count < degree):
        step_count += 1
        neighbours = _list_neighbours(frontier, nameable, is_upstream=is_upstream, limit=MAX_ENTITIES + len(steps) + 2)
        frontier = {
            neighbour: previous
            for neighbour, previous in neighbours.items()
            if neighbour != urn and neighbour not in steps
        }
        steps |= {neighbour: LineageStep(step_count, previous) for neighbour, previous in frontier.items()}
        if len(steps) > MAX_ENTITIES or (frontier and step_count > MAX_DEGREE):
            detail = (
                f"The lineage of {urn} has more than {MAX_ENTITIES} entities or {MAX_DEGREE} steps: "
                "ask for a degree of 1 or 2, or begin nearer to what you look for."
            )
            raise Invalid.from_problem(code="lineage.large", pointer="/input/urn", detail=detail)
    return steps


def list_path(steps: Mapping[str, LineageStep], urn: str) -> list[str]:
    """Return the URNs on the shortest path of a walk, from its start to the entity."""
    path = [urn]
    while (step := steps.get(path[-1])) is not None:
        path.append(step.previous)
    return path[::-1]


def _list_neighbours(
    urns: Collection[str], nameable: NamingPermissions, *, is_upstream: bool, limit: int
) -> dict[str, str]:
    """Return neighbour -> the first of these entities next to it; at most `limit` per lineage facet."""
    neighbours: dict[str, str] = {}
    for field in (UPSTREAM, DOWNSTREAM):
        near_column, far_column = "entity__urn", "value"
        if is_upstream == (field == DOWNSTREAM):
            near_column, far_column = far_column, near_column
        rows = Facet.objects.filter(
            nameable.condition(far_column), field=field, **{f"{near_column}__among": list(urns)}
        )
        pairs = rows.order_by().values_list(far_column).annotate(first=Min(near_column)).order_by(far_column)
        for neighbour, first in pairs[:limit]:
            neighbours[neighbour] = min(first, neighbours.get(neighbour, first))
    return neighbours
