"""Tickets: the right of an opened page to keep a draft for the user it was made for, also after the session."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID, uuid4, uuid5

from django.conf import settings
from django.core import signing

#: Name of the form field.
TICKET_FIELD = "draft_ticket"

_SALT = "policies.draft"
_SECONDS_OF_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class DraftTicket:
    """The signed content of a form: the owner of its draft, its path, and its id.

    `page` is the opened page that holds the form, `previous` the page whose fields it shows; None if it shows no draft.
    Only pages that this site made for the user have a ticket, so a form of another site keeps nothing for anybody.
    """

    user_id: int
    path: str
    draft_id: UUID
    page: UUID
    previous: UUID | None = None

    @classmethod
    def create(cls, *, user_id: int, path: str, draft_id: UUID | None = None, previous: UUID | None = None) -> Self:
        """Return the ticket of a page that is opened now, for a new draft unless one is given."""
        return cls(user_id, path, draft_id or uuid4(), uuid4(), previous)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the ticket that a form sent; None for one that this site did not make, or made too long ago."""
        try:
            user_id, path, *ids = signing.loads(text, salt=_SALT, max_age=settings.DRAFT_DAYS * _SECONDS_OF_A_DAY)
        except signing.BadSignature:
            return None
        draft_id, page, previous = (UUID(value) if value else None for value in ids)
        return cls(user_id, path, draft_id, page, previous) if draft_id and page else None

    def __str__(self) -> str:
        ids = [str(self.draft_id), str(self.page), str(self.previous or "")]
        return signing.dumps([self.user_id, self.path, *ids], salt=_SALT)

    def resolve_id(self, last_page: UUID | None) -> UUID:
        """Return the id under which this page keeps its fields; `last_page` posted those that are kept under its own.

        Where another page posted them after this one was opened, both are kept: this page has a draft of its own then.
        """
        if last_page in (None, self.page, self.previous):
            return self.draft_id
        return uuid5(self.draft_id, str(self.page))
