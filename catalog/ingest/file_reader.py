"""Reads files of proposals as `datahub ingest`'s file sink writes them: a JSON list, perhaps gzipped, of any length.

The list is read piece by piece, so a file larger than memory can be loaded.
"""

import codecs
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, NoReturn

from catalog import errors
from catalog.ingest.validate import Proposal
from policies.engine.errors import Problem
from policies.errors import Invalid

_PIECE = 1 << 16
#: Longest single entry, in characters: no door takes a longer body.
_LONGEST = 1 << 24
_BLANK = " \t\r\n"
_MAGIC = b"\x1f\x8b"
_GZIP = 31  # what zlib calls "with gzip's header"

_SNAPSHOT = "This is a snapshot (MCE), the form before proposals; write the file again with a current client."


def read(stream: IO[bytes]) -> Iterator[tuple[Proposal | None, list[Problem]]]:
    """Yield each proposal of a file, or the problems of an entry that is none, placed at `/<index>`.

    Raises Invalid when the file as a whole is not what it should be: no JSON list, cut off, not UTF-8, badly packed.
    """
    for index, entry in enumerate(_entries(_text(stream))):
        problems = _problems(entry, f"/{index}")
        yield (None, problems) if problems else (_proposal(entry, f"/{index}"), [])


def _problems(entry: Mapping[str, Any], place: str) -> list[Problem]:
    if "proposedSnapshot" in entry:
        return [Problem(errors.DOCUMENT_SHAPE, place, _SNAPSHOT)]
    found = [
        Problem(errors.DOCUMENT_SHAPE, f"{place}/{key}", "This is text.")
        for key in ("entityType", "entityUrn", "changeType", "aspectName")
        if not isinstance(entry.get(key, ""), str)
    ]
    aspect = entry.get("aspect")
    if aspect is None and entry.get("changeType") == "DELETE":
        return found
    if not isinstance(aspect, dict) or ("json" not in aspect and not isinstance(aspect.get("value"), str)):
        found.append(Problem(errors.DOCUMENT_SHAPE, f"{place}/aspect", 'This is {"json": {…}} or {"value": "<JSON>"}.'))
    return found


def _proposal(entry: Mapping[str, Any], place: str) -> Proposal:
    aspect, metadata = entry.get("aspect"), entry.get("systemMetadata")
    document = None
    if aspect is not None:
        document = _dumped(aspect["json"]) if "json" in aspect else aspect["value"]
    return Proposal(
        urn=entry.get("entityUrn", ""),
        aspect=entry.get("aspectName", ""),
        document=document,
        change=entry.get("changeType", ""),
        type=entry.get("entityType", ""),
        system_metadata=metadata if metadata is None or isinstance(metadata, str) else _dumped(metadata),
        place=place,
    )


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _entries(pieces: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON list as they become complete."""
    buffer = _Buffer(pieces)
    if buffer.next() != "[":
        _refuse("The file is not a JSON list.")
    character = buffer.next()
    if not character:
        _refuse("The list is cut off.")
    if character != "]":
        buffer.unread()
        character = ","
    index = 0
    while character == ",":
        yield buffer.object(index)
        index += 1
        character = buffer.next()
        if character not in (",", "]"):
            _refuse(f"The list is cut off or broken after entry {index - 1}.")
    if buffer.next():
        _refuse("Something follows the JSON list.")


class _Buffer:
    """Text that arrives in pieces, read one token at a time."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._text = ""
        self._place = 0
        self._decoder = json.JSONDecoder()

    def next(self) -> str:
        """Take the next character that is not blank, '' at the end."""
        while True:
            while self._place < len(self._text):
                self._place += 1
                if self._text[self._place - 1] not in _BLANK:
                    return self._text[self._place - 1]
            if not self._more():
                return ""

    def unread(self) -> None:
        """Put the last character back."""
        self._place -= 1

    def object(self, index: int) -> dict[str, Any]:
        """Take one object, which may need many pieces."""
        if self.next() != "{":
            _refuse(f"Entry {index} is not an object.")
        self.unread()
        while True:
            try:
                found, self._place = self._decoder.raw_decode(self._text, self._place)
            except RecursionError:
                _refuse(f"Entry {index} is nested too deeply.")
            except ValueError as error:
                # It may only be incomplete. The text doubles before the next attempt, so attempts stay few.
                if not self._double():
                    _refuse(f"Entry {index} is not JSON: {error}.")
            else:
                return dict(found)

    def _double(self) -> bool:
        wanted = 2 * (len(self._text) - self._place)
        if wanted > 2 * _LONGEST:
            return False
        is_longer = False
        while len(self._text) - self._place < wanted and self._more():
            is_longer = True
        return is_longer

    def _more(self) -> bool:
        piece = next(self._pieces, "")
        self._text, self._place = self._text[self._place :] + piece, 0
        return bool(piece)


def _text(stream: IO[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in _unpacked(stream):
            if text := decoder.decode(piece):
                yield text
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _refuse("The file is not UTF-8.")


def _unpacked(stream: IO[bytes]) -> Iterator[bytes]:
    piece = stream.read(_PIECE)
    if not piece.startswith(_MAGIC):
        while piece:
            yield piece
            piece = stream.read(_PIECE)
        return
    unpacker = zlib.decompressobj(_GZIP)
    try:
        while piece:
            # Bounded, so that a small packed piece cannot become a huge one in memory.
            yield unpacker.decompress(piece, 16 * _PIECE)
            piece = unpacker.unconsumed_tail or stream.read(_PIECE)
    except zlib.error as error:
        _refuse(f"The file cannot be unpacked: {error}.")
    if not unpacker.eof:
        _refuse("The packed file is cut off.")


def _refuse(detail: str) -> NoReturn:
    raise Invalid.one(code="file.invalid", pointer="", detail=detail)
