"""The seats of a stored step: who decides an item there, also by a seat that was handed over."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from policies.models import RequestStep
from policies.requests.rules.terms import Approvers, read_approvers

#: The member of stored approvers with the people and groups to whom items (their positions) were handed over.
HANDED_OVER = "handed_over"


def read_seats(step: RequestStep, position: int) -> Approvers:
    """Return who decides an item at a step. Raises InvalidPolicy for stored approvers that cannot be read any more."""
    document = dict(step.approvers)
    handed_over = document.pop(HANDED_OVER, {})
    terms = read_approvers(document)
    return replace(terms, names=terms.names | frozenset(handed_over.get(str(position), ())))


def hand_seat_over(step: RequestStep, positions: Iterable[int], *, giver: str, receivers: Sequence[str]) -> None:
    """Give the seat of a person to others, for these items alone. It is not stored yet."""
    handed_over = dict(step.approvers.get(HANDED_OVER, {}))
    for position in map(str, positions):
        handed_over[position] = sorted({*handed_over.get(position, ()), *receivers} - {giver})
    step.approvers = {**step.approvers, HANDED_OVER: handed_over}
    # Whoever is handed the seat back has it again.
    step.given_away = sorted({*step.given_away, giver}.difference(receivers))
