"""What one actor may use a privilege on, as selectors, agrees with deciding entity by entity."""

from hypothesis import given

from policies.engine.model import Actor, Cover, Coverage
from policies.engine.selectors import Resource
from tests import oracle, strategies
from tests.worlds import World


def reaches(cover: Cover, actor: Actor, resource: Resource) -> bool:
    """Read a cover as its docstring says."""
    if not cover.selector.covers(resource):
        return False
    held = {owner.type for owner in resource.owners if owner.actor in actor.holders}
    if not held.isdisjoint(cover.excluded_owner_types):
        return False
    if cover.is_unconditional or (cover.is_self and resource.urn == actor.urn):
        return True
    return cover.is_owned and (bool(held) if cover.owner_types is None else not held.isdisjoint(cover.owner_types))


def is_covered(coverage: Coverage, resource: Resource) -> bool:
    """Read a coverage as its docstring says."""
    if coverage.is_everything:
        return True
    is_reached = any(reaches(cover, coverage.actor, resource) for cover in coverage.allows)
    return is_reached and not any(reaches(cover, coverage.actor, resource) for cover in coverage.denies)


@given(world=strategies.worlds())
def test_coverage_agrees_with_the_oracle(world: World):
    snapshot = world.snapshot()
    for urn in strategies.ACTORS:
        for privilege in strategies.PRIVILEGES:
            coverage = snapshot.compute_coverage(world.actor(urn), privilege)
            covered = [name for name in sorted(world.raw["entities"]) if is_covered(coverage, world.resource(name))]
            assert covered == oracle.what(world.raw, world.policies, urn, privilege)
            assert coverage.version == snapshot.version
