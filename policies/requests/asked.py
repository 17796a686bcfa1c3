"""The body of a request, as interfaces receive it: read with every problem, before anything is looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from policies.engine.errors import InvalidPolicy
from policies.engine.families.document_reader import DocumentReader
from policies.engine.families.validity import parse_instant
from policies.models.people import USER_PREFIX
from policies.models.request import MAX_NOTE_LENGTH, MAX_TICKET_LENGTH
from policies.requests.errors import RequestInvalid
from policies.requests.items import MAX_ITEMS, RequestedItem, read_items

_FIELDS = ("actor", "items", "until", "reason", "ticket", "confirmed", "way")
_MAX_CONFIRMED = 100


@dataclass(frozen=True, slots=True)
class AskedBody:
    """A body that was read: `actor` None is the asker; `until` counts if `has_until`, and None then is for good.

    `ways` are ids of chosen ways, by the position of their item; empty if none was chosen.
    """

    items: tuple[RequestedItem, ...]
    actor: str | None = None
    until: datetime | None = None
    has_until: bool = False
    reason: str = ""
    ticket: str = ""
    confirmed: frozenset[str] = frozenset()
    ways: tuple[str, ...] = ()


def read_asked(body: Mapping[str, Any]) -> AskedBody:
    """Return the access that a body asks for; raises RequestInvalid with every problem."""
    reader = DocumentReader()
    try:
        reader.check_keys(body, _FIELDS, "")
        items = read_items(reader, body.get("items"))
        actor = reader.read_text(body.get("actor"), "/actor")
        if actor and (not actor.startswith(USER_PREFIX) or actor == USER_PREFIX):
            reader.note("urn.type", "/actor", f"This must begin with {USER_PREFIX}.")
        asked_body = AskedBody(
            tuple(items),
            actor or None,
            _read_until(reader, body.get("until")),
            "until" in body,
            read_note(reader, body.get("reason"), "/reason"),
            _read_ticket(reader, body.get("ticket")),
            frozenset(_read_confirmed(reader, body.get("confirmed"))),
            _read_ways(reader, body.get("way")),
        )
        reader.raise_problems()
    except InvalidPolicy as error:
        raise RequestInvalid(error.problems) from None
    return asked_body


def read_note(reader: DocumentReader, value: Any, pointer: str) -> str:
    """Return a reason or note without blanks around it; the reader notes one that is too long."""
    text = reader.read_text(value, pointer).strip()
    if len(text) > MAX_NOTE_LENGTH:
        reader.note("text.long", pointer, f"This has up to {MAX_NOTE_LENGTH} characters.")
    return text


def _read_until(reader: DocumentReader, value: Any) -> datetime | None:
    if value is None:
        return None
    try:
        return parse_instant(value)
    except ValueError as error:
        reader.note("type.time", "/until", str(error))
        return None


def _read_ticket(reader: DocumentReader, value: Any) -> str:
    ticket = reader.read_text(value, "/ticket").strip()
    if not ticket:
        return ""
    try:
        parts = urlsplit(ticket)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address or len(ticket) > MAX_TICKET_LENGTH or not ticket.isprintable():
        reader.note("ticket.invalid", "/ticket", "A ticket is an address that begins with https:// or http://.")
    return ticket


def _read_confirmed(reader: DocumentReader, value: Any) -> list[str]:
    names = reader.read_items(value, "/confirmed", limit=_MAX_CONFIRMED)
    return [reader.read_text(name, f"/confirmed/{index}") for index, name in enumerate(names)]


def _read_ways(reader: DocumentReader, value: Any) -> tuple[str, ...]:
    """Return the ids of ways: one text for the only item, or a list with one for each."""
    if value is None:
        return ()
    values: Sequence[Any] = value if isinstance(value, list) else [value]
    names = reader.read_items(list(values), "/way", limit=MAX_ITEMS)
    return tuple(
        reader.read_text(name, "/way" if len(names) == 1 else f"/way/{index}") for index, name in enumerate(names)
    )
