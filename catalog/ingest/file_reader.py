"""Reader of proposal files by `datahub ingest`'s file sink: a JSON list, optionally gzipped, of any length.

The list is read incrementally, so a file larger than memory can be imported.
"""

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any, NoReturn, cast

from catalog import errors
from catalog.ingest.validate import Proposal, to_json_text
from policies.engine.errors import Problem
from policies.errors import Invalid

_PIECE_BYTES = 1 << 16
#: Maximum length of an entry, in characters: no interface accepts a longer body.
_MAX_ENTRY_CHARACTERS = 1 << 24
_BLANKS = " \t\r\n"
_GZIP_MAGIC = b"\x1f\x8b"

_SNAPSHOT_DETAIL = "This is a snapshot (MCE), the form before proposals; write the file again with a current client."


def read(stream: IO[bytes]) -> Iterator[tuple[Proposal | None, list[Problem]]]:
    """Yield (proposal, no problems) or (None, problems) for each entry of a file, with pointers `/<index>`.

    Raises Invalid when the file as a whole is invalid: no JSON list, truncated, not UTF-8, damaged compression.
    """
    for index, entry in enumerate(_read_entries(_decode_text(stream))):
        problems = _check_entry(entry, f"/{index}")
        yield (None, problems) if problems else (_to_proposal(entry, f"/{index}"), [])


def _check_entry(entry: Mapping[str, Any], pointer: str) -> list[Problem]:
    if "proposedSnapshot" in entry:
        return [Problem(errors.DOCUMENT_SHAPE, pointer, _SNAPSHOT_DETAIL)]
    problems = [
        Problem(errors.DOCUMENT_SHAPE, f"{pointer}/{key}", "This is text.")
        for key in ("entityType", "entityUrn", "changeType", "aspectName")
        if not isinstance(entry.get(key, ""), str)
    ]
    aspect = entry.get("aspect")
    if aspect is None and entry.get("changeType") == "DELETE":
        return problems
    if not isinstance(aspect, dict) or ("json" not in aspect and not isinstance(aspect.get("value"), str)):
        problems.append(
            Problem(errors.DOCUMENT_SHAPE, f"{pointer}/aspect", 'This is {"json": {…}} or {"value": "<JSON>"}.')
        )
    return problems


def _to_proposal(entry: Mapping[str, Any], pointer: str) -> Proposal:
    aspect = entry.get("aspect")
    document = None
    if aspect is not None:
        # A text under `json` is a document too, though one that no aspect may have.
        document = json.dumps(aspect["json"], ensure_ascii=False) if "json" in aspect else aspect["value"]
    return Proposal(
        urn=entry.get("entityUrn", ""),
        aspect=entry.get("aspectName", ""),
        document=document,
        change=entry.get("changeType", ""),
        type=entry.get("entityType", ""),
        system_metadata=to_json_text(entry.get("systemMetadata")),
        pointer=pointer,
    )


def _read_entries(pieces: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON list as they become complete."""
    buffer = _TextBuffer(pieces)
    if buffer.read_character() != "[":
        _refuse("The file is not a JSON list.")
    character = buffer.read_character()
    if not character:
        _refuse("The list is cut off.")
    if character != "]":
        buffer.put_back()
        character = ","
    index = 0
    while character == ",":
        yield buffer.read_object(index)
        index += 1
        character = buffer.read_character()
        if character not in (",", "]"):
            _refuse(f"The list is cut off or broken after entry {index - 1}.")
    if buffer.read_character():
        _refuse("Something follows the JSON list.")


class _TextBuffer:
    """Text that arrives in pieces, read one token at a time."""

    def __init__(self, pieces: Iterator[str]) -> None:
        self._pieces = pieces
        self._text = ""
        self._position = 0
        self._decoder = json.JSONDecoder()

    def read_character(self) -> str:
        """Return the next character that is not blank, '' at the end."""
        while True:
            while self._position < len(self._text):
                self._position += 1
                if self._text[self._position - 1] not in _BLANKS:
                    return self._text[self._position - 1]
            if not self._read_more():
                return ""

    def put_back(self) -> None:
        """Put the last character back."""
        self._position -= 1

    def read_object(self, index: int) -> dict[str, Any]:
        """Return the next object, which may need many pieces."""
        if self.read_character() != "{":
            _refuse(f"Entry {index} is not an object.")
        self.put_back()
        while True:
            try:
                document, self._position = self._decoder.raw_decode(self._text, self._position)
            except RecursionError:
                _refuse(f"Entry {index} is nested too deeply.")
            except ValueError as error:
                # The object may be incomplete. The text doubles before the next attempt, so there are few attempts.
                if not self._grow_buffer():
                    _refuse(f"Entry {index} is not JSON: {error}.")
            else:
                return dict(document)

    def _grow_buffer(self) -> bool:
        target_length = 2 * (len(self._text) - self._position)
        if target_length > 2 * _MAX_ENTRY_CHARACTERS:
            return False
        is_longer = False
        while len(self._text) - self._position < target_length and self._read_more():
            is_longer = True
        return is_longer

    def _read_more(self) -> bool:
        piece = next(self._pieces, "")
        self._text, self._position = self._text[self._position :] + piece, 0
        return bool(piece)


def _decode_text(stream: IO[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in _unpack(stream):
            if text := decoder.decode(piece):
                yield text
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _refuse("The file is not UTF-8.")


def _unpack(stream: IO[bytes]) -> Iterator[bytes]:
    start, source = stream.read(len(_GZIP_MAGIC)), stream
    if start == _GZIP_MAGIC:
        stream.seek(-len(start), io.SEEK_CUR)
        start, source = b"", cast("IO[bytes]", gzip.GzipFile(fileobj=stream))
    yield start
    try:
        # A packed piece is unpacked up to this length, so a small one cannot become a huge one in memory.
        while piece := source.read(_PIECE_BYTES):
            yield piece
    except EOFError:
        _refuse("The packed file is cut off.")
    except (gzip.BadGzipFile, zlib.error) as error:
        _refuse(f"The file cannot be unpacked: {error}.")


def _refuse(detail: str) -> NoReturn:
    raise Invalid.from_problem(code="file.invalid", pointer="", detail=detail)
