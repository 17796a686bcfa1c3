"""Ends of memberships and role assignments in changes: one end for all whom a change names."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from policies.engine.errors import Problem
from policies.engine.families.validity import Validity
from policies.engine.wording import word_time
from policies.writes.timed_holders import HolderInput, TimedHolder


def make_holders(urns: Sequence[str], ends: datetime | None, reason: str = "") -> list[HolderInput]:
    """Return holders as services take them: with the end and the reason, or bare URNs where there is no end."""
    if ends is None:
        return list(urns)
    return [TimedHolder(urn, Validity(None, ends), reason) for urn in dict.fromkeys(urns)]


def locate_holder_problem(problem: Problem, pointer: str) -> Problem:
    """Return a problem of a holder in the list at `pointer` with its place in a change: the end is not in the list."""
    match = re.fullmatch(rf"({re.escape(pointer)}/[0-9]+)/(urn|valid_until)", problem.pointer)
    if match is None:
        return problem
    return replace(problem, pointer=match[1] if match[2] == "urn" else "/valid_until")


def describe_end(ends: datetime | None) -> str:
    """Return the end of a sentence that says until when."""
    return "" if ends is None else f" until {word_time(ends)}"
