"""Change events of a write to the catalog: one for each document, and one for each deleted entity.

One statement for a whole batch. A long document is recorded by its length and hash: the text stays in the versions of
the aspect for as long as the entity exists, and the record must not grow with the catalog.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import datetime

from catalog.aspects.facet_fields import MAX_NAME_LENGTH
from catalog.models import Entity
from policies.models import ChangeEvent, Verb, open_write
from policies.models.fields import JsonText

#: Maximum length of a document that is recorded in full, in characters.
MAX_RECORDED_CHARACTERS = 4096


class AuditRecord:
    """The unsaved events of one write, by this actor (URN) and through this channel."""

    def __init__(self, *, by: str, channel: str, at: datetime) -> None:
        self._by, self._channel, self._at = by, channel, at
        self._events: list[ChangeEvent] = []

    def record_document(self, entity: Entity, aspect: str, *, before: str | None, after: str | None) -> None:
        """Record the change of a document (JSON text, None for missing); nothing when it is unchanged."""
        if before == after:
            return
        verb = Verb.CREATED if before is None else Verb.DELETED if after is None else Verb.UPDATED
        self._note(
            entity.urn,
            f"{aspect} of {entity.name or entity.urn}",
            verb,
            None if before is None else _to_json_object({aspect: before}),
            None if after is None else _to_json_object({aspect: after}),
        )

    def record_removal(self, entity: Entity, documents: Mapping[str, str]) -> None:
        """Record the deletion of an entity, with its newest documents by aspect name."""
        self._note(entity.urn, entity.name or entity.urn, Verb.DELETED, _to_json_object(documents), None)

    def save(self) -> None:
        """Store the recorded events, inside the transaction of the write."""
        if not self._events:
            return
        with open_write() as write:
            write.record(self._events)
        self._events = []

    def _note(self, urn: str, name: str, verb: Verb, before: JsonText | None, after: JsonText | None) -> None:
        self._events.append(
            ChangeEvent(
                object_urn=urn,
                name=name[:MAX_NAME_LENGTH],
                verb=verb,
                by=self._by,
                at=self._at,
                door=self._channel,
                before=before,
                after=after,
            )
        )


def _to_json_object(texts: Mapping[str, str]) -> JsonText:
    """Return documents as one JSON object, by aspect name."""
    return JsonText("{" + ",".join(_format_members(texts.items())) + "}")


def _format_members(texts: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, text in texts:
        recorded_text = text
        if len(text) > MAX_RECORDED_CHARACTERS:
            recorded_text = json.dumps({"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()})
        yield f"{json.dumps(name)}:{recorded_text}"
