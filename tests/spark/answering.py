"""What tests have done in the processes of Spark, which have no Django."""

from collections.abc import Iterator, Sequence

from policies.engine import reach_index
from policies.engine.evaluate import decide
from policies.engine.model import Actor, Question
from policies.engine.postings import Postings
from policies.engine.snapshot import Snapshot

World = tuple[int, Snapshot, Postings, Sequence[Actor], Sequence[str]]


def by_bulk(worlds: Sequence[World]) -> Iterator[tuple[int, str, str, str]]:
    """Answer every question about some worlds by `bulk`, and what it leaves open by `decide`: what is allowed."""
    for number, snapshot, postings, actors, privileges in worlds:
        for actor in actors:
            for privilege in privileges:
                reached = reach_index.ReachIndex(postings, snapshot, privilege).find_extent(actor)
                open_ = [
                    one
                    for one in reached.needs_decision
                    if decide(snapshot, Question(actor, privilege, postings.build_resource(one))).is_allowed
                ]
                for one in (*reached.allowed, *open_):
                    yield number, actor.urn, privilege, postings.urns[one]
