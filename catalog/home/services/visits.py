"""Visits of the home page: one row for each reader, written at most once an hour."""

from datetime import datetime, timedelta

from policies.models import User, Visit

#: Somebody who comes back after so long begins another visit.
VISIT_GAP = timedelta(hours=1)


def note_visit(*, user: User, now: datetime) -> datetime | None:
    """Note that somebody is on the home page, and return when its visit before this one was; None for the first one.

    Views within VISIT_GAP of the noted one belong to the same visit and write nothing, so what was new stays new when
    the page is loaded again. Of two views at once, one begins the visit.
    """
    visit, is_first = Visit.objects.get_or_create(user=user, defaults={"seen_at": now})
    if is_first or now - visit.seen_at < VISIT_GAP:
        return visit.previous_at
    Visit.objects.filter(user=user, seen_at=visit.seen_at).update(seen_at=now, previous_at=visit.seen_at)
    return visit.seen_at
