"""Changes applied as one: all in one transaction, in their order, each by the service of what it changes."""

from collections.abc import Sequence
from typing import NamedTuple

from policies.changes.kinds import Change
from policies.changes.staging import locate_problems
from policies.engine.model import Actor
from policies.errors import Invalid, NotFound
from policies.models import open_write


class AppliedChanges(NamedTuple):
    """Changes as they were written, and those that take them back, in the order in which they are to be applied.

    `inverses` are None where one of the changes cannot be taken back.
    """

    changes: tuple[Change, ...]
    inverses: tuple[Change, ...] | None


def apply_changes(*, changes: Sequence[Change], by: Actor, channel: str, reason: str = "") -> AppliedChanges:
    """Write changes, all or none, in one write of one version: guardrails judge what all of them leave.

    Each raises what its service raises: Forbidden, Conflict, and Invalid and NotFound as Invalid, with the place of the
    change among all. `reason` is kept with what is given until an end.
    """
    applied: list[Change] = []
    inverses: list[Change] | None = []
    with open_write(*sorted({change.gate for change in changes})):
        for index, change in enumerate(changes):
            settled = change.assign_urn()
            try:
                inverse = settled.find_inverse()
                inverses = None if inverse is None or inverses is None else [*inverse, *inverses]
                settled.apply(by=by, channel=channel, reason=reason)
            except (Invalid, NotFound) as error:
                raise Invalid(locate_problems(error, change, index)) from None
            applied.append(settled)
    return AppliedChanges(tuple(applied), None if inverses is None else tuple(inverses))
