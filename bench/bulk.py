"""All entities at once: extents of many selectors, and what actors may view."""

from dataclasses import replace

from bench.decide import snapshot_of
from bench.tables import Table, median_us, seconds
from bench.worlds import HOT, Company, actor, below, resource, rows
from policies.engine import reach_index
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question
from policies.engine.postings import Postings
from policies.engine.selectors import CONTAINER, DOMAIN, OWNER, TAG, Resource

FIELDS = (DOMAIN, CONTAINER, TAG, OWNER)
SAMPLE = 2000


def run(*, is_quick: bool) -> list[Table]:
    """Measure a catalog of a million entities under ten thousand policies."""
    company = Company(1_000 if is_quick else 10_000, entities=50_000 if is_quick else 1_000_000)
    things = list(company.things())
    urns, types = [thing.urn for thing in things], [thing.type for thing in things]
    facts = list(rows(things))
    under = below()

    def build() -> Postings:
        return Postings(urns=urns, types=types, fields=FIELDS, rows=facts, descendants=under)

    title = f"{len(things):,} entities, {len(facts):,} facts, {company.policies:,} policies, one core"
    table = Table(title, ("what", "figure", "unit"))
    spent, postings = seconds(build)
    table.rows.append(("postings from rows", spent, "s"))
    several = [company, replace(company, is_hot=True)]
    found = {one.resources for some in several for _, statements in some.compiled for one in statements}
    selectors = sorted(found, key=str)[: company.policies]
    spent, _ = seconds(lambda: [postings.find_extent(selector) for selector in selectors])
    table.rows.append((f"extents of {len(selectors):,} different selectors", spent, "s"))
    table.rows += _views(company, postings, build())
    return [table]


def _views(company: Company, kept: Postings, fresh: Postings) -> list[tuple[str, float, str]]:
    """Measure which entities actors may view; `kept` has all extents, `fresh` none."""
    snapshot = snapshot_of(company)

    def person(number: int) -> Actor:
        return actor(company.person(number))

    def entity(number: int) -> Resource:
        return resource(company.thing(number))

    def view(postings: Postings) -> float:
        return (
            median_us(
                lambda who: reach_index.compute_extent(postings, snapshot.compute_coverage(who, HOT)),
                range(100),
                person,
            )
            / 1000
        )

    people = [person(number) for number in range(1000)]
    one = median_us(lambda thing: decide(snapshot, Question(people[0], HOT, thing)), range(SAMPLE), entity)
    each = one * company.entities / 1000
    first, again = view(fresh), view(kept)
    spent, reach = seconds(lambda: reach_index.ReachIndex(kept, snapshot, HOT))
    counting, _ = seconds(lambda: reach.count_entities(people))
    return [
        ("which one actor may view, extents kept", again, "ms"),
        ("which one actor may view, nothing kept", first, "ms"),
        (f"baseline: deciding one by one (from {SAMPLE:,})", each, "ms"),
        ("baseline / extents kept", each / again, "times"),
        ("reach of one privilege, for all actors", spent, "s"),
        ("how many each of 1,000 actors may view", counting, "s"),
    ]
