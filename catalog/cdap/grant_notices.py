"""Notices to people about their grants: that they end soon, and that they have ended."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from django.urls import reverse

from catalog.access.grant_rows import select_grants
from policies.engine.families import cdap_entity_ids
from policies.engine.wording import word_time
from policies.events.sources import Ending, NoticeDraft
from policies.models import EventType, OutboxEvent
from policies.models.people import USER_PREFIX

_CHUNK_SIZE = 500


class GrantNotices:
    """The source of grants on single entities and patterns."""

    @property
    def rules(self) -> Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]]:
        """Type of an event → what is told of it."""
        return {EventType.GRANT_ENDED: _describe_end}

    def iterate_endings(self, *, after: datetime, until: datetime) -> Iterator[Ending]:
        """Yield the grants to users themselves that end in this time, one for each privilege."""
        columns = ("source", "granted", "holder", "valid_until")
        users, _, patterns = select_grants()
        for rows in (users, patterns.filter(user__isnull=False)):
            due_rows = rows.filter(valid_until__gt=after, valid_until__lte=until).order_by("pk")
            for source, privilege, holder, at in due_rows.values_list(*columns).iterator(chunk_size=_CHUNK_SIZE):
                name = f"{privilege.upper()} on {source}"
                yield Ending("grant", f"{source} {privilege}", name, holder, at, _find_path(source))


def _describe_end(event: OutboxEvent) -> NoticeDraft | None:
    """Return the notice to a user; nobody is told for groups and roles."""
    if not event.subject.startswith(USER_PREFIX):
        return None
    source = event.data["entity"]
    title = f"{', '.join(event.data['privileges'])} on {source} has ended"
    text = f"It ended on {word_time(event.time)}."
    return NoticeDraft(title, text, _find_path(source), frozenset({event.subject}))


def _find_path(source: str) -> str:
    """Return the page of an entity; that of the profile for a pattern."""
    is_pattern = cdap_entity_ids.parse_pattern(source) is not None
    return reverse("profile") if is_pattern else reverse("entity", args=[source])


#: What the registry `notice_sources` names.
SOURCE = GrantNotices()
