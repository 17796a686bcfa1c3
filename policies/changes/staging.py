"""Changes taken as one: checked one after the other, each against what those before it leave. Nothing is stored.

Each is checked as its own write checks it, so staging needs what the changes need and is refused for the same reasons;
problems have the place of the change they belong to.
"""

import time
from collections.abc import Mapping, Sequence

from policies import deadlines
from policies.changes.kinds import Change
from policies.changes.worlds import ChangedWorld, StagedWorld
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, NotFound, PolicyAppError, Unavailable

#: Most changes that are taken as one.
MAX_CHANGES = 100

#: Seconds for which changes are checked, one after the other: longer than a hundred of any kind take.
STAGING_SECONDS = 30.0


def stage_changes(*, changes: Sequence[Change], by: Actor) -> ChangedWorld:
    """Check changes and return what they leave.

    Raises Forbidden, Invalid with every problem of every change, and Unavailable where it takes too long.
    """
    world = StagedWorld(by, (change.subject for change in changes))
    problems: list[Problem] = []
    ends_at = time.monotonic() + STAGING_SECONDS
    for index, change in enumerate(changes):
        _refuse_late(index, len(changes), ends_at)
        try:
            change.stage(world)
        except (Conflict, Invalid, NotFound) as error:
            problems += locate_problems(error, change, index)
    problems += _list_fact_problems(changes, world.check_facts())
    if problems:
        raise Invalid(problems)
    return world.finish(
        is_provable=all(change.is_provable for change in changes),
        is_replayable=all(change.is_replayable for change in changes),
    )


def locate_problems(error: PolicyAppError, change: Change, index: int) -> list[Problem]:
    """Return the problems of a change with their places in the list of changes."""
    pointer = f"/changes/{index}/{change.kind}"
    if isinstance(error, Invalid):
        located = (change.locate(problem) for problem in error.problems)
        return [Problem(problem.code, pointer + problem.pointer, problem.detail) for problem in located]
    code = "not_found" if isinstance(error, NotFound) else "conflict"
    return [Problem(code, pointer + change.subject_pointer, error.detail)]


def _refuse_late(index: int, count: int, ends_at: float) -> None:
    """Raise Unavailable before a change that there is no time left for: a preview that cannot end is not begun."""
    seconds_left = deadlines.find_seconds_left()
    if index and (time.monotonic() >= ends_at or seconds_left == 0):
        raise Unavailable(f"Only {index} of {count} changes could be looked at in time; ask about fewer of them.")


def _list_fact_problems(changes: Sequence[Change], errors: Mapping[str, Invalid]) -> list[Problem]:
    """Return the problems of what the changes leave of entities, each with the place of the last change of one."""
    places = {change.subject: (change, index) for index, change in enumerate(changes)}
    return [problem for urn, error in errors.items() for problem in locate_problems(error, *places[urn])]
