"""Who is given something for a time, as interfaces receive it, and the checks of that input."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from policies.engine.families.validity import UNLIMITED, Validity
from policies.models.timed_rows import MAX_REASON_LENGTH
from policies.writes.validation import Checks


@dataclass(frozen=True, slots=True)
class TimedHolder:
    """A user or group (its URN) that is given something, with the time in which it counts and the reason."""

    urn: str
    validity: Validity = UNLIMITED
    reason: str = ""


#: A bare URN leaves the times of what it already has as they are.
HolderInput = str | TimedHolder


def get_urn(holder: HolderInput) -> str:
    """Return the URN of a holder."""
    return holder if isinstance(holder, str) else holder.urn


def check_holders(
    checks: Checks,
    holders: Sequence[HolderInput],
    existing_urns: Collection[str],
    *,
    pointer: str,
    noun: str,
    now: datetime,
) -> None:
    """Check that the holders of a list exist, that each with times is named once, and their times and reasons."""
    counts: dict[str, int] = {}
    for holder in holders:
        counts[get_urn(holder)] = counts.get(get_urn(holder), 0) + 1
    for position, holder in enumerate(holders):
        item_pointer = f"{pointer}/{position}"
        urn_pointer = item_pointer if isinstance(holder, str) else f"{item_pointer}/urn"
        urn = get_urn(holder)
        if urn not in existing_urns:
            checks.add("unknown", urn_pointer, f"There is no {noun} {urn!r}.")
        if isinstance(holder, str):
            continue
        if counts[urn] > 1:
            checks.add("repeated", urn_pointer, f"{urn} is named more than once, so its times are not clear.")
        check_validity(checks, holder.validity, pointer=item_pointer, now=now)
        checks.validate_text(holder.reason, f"{item_pointer}/reason", limit=MAX_REASON_LENGTH)


def check_validity(checks: Checks, validity: Validity, *, pointer: str, now: datetime) -> None:
    """Check that an end is after the beginning and not in the past: what is given has to count at some time."""
    if validity.ends is None:
        return
    if validity.begins is not None and validity.ends <= validity.begins:
        checks.add("validity.empty", f"{pointer}/valid_until", "The end has to be after the beginning.")
    elif validity.ends <= now:
        checks.add("validity.ended", f"{pointer}/valid_until", "This end has passed.")


def describe_times(validity: Validity, reason: str = "") -> dict[str, str | None]:
    """Return times and reason as the change log stores them."""
    instants = {"valid_from": validity.begins, "valid_until": validity.ends}
    texts = {name: None if instant is None else instant.isoformat() for name, instant in instants.items()}
    return texts | ({"reason": reason} if reason else {})
