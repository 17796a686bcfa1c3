"""JSON of calls that leave nothing to choose: read and written by a fast library, with the results of the strict one.

The library takes the last of two members with one name, and `policies.writes.strict_json` refuses them. Where a body
has no escape, each of its texts has exactly two quotation marks. So a value that has as many texts as the body has
pairs of marks has lost none of them, and a text without escapes holds no NUL and no half of a surrogate pair.
"""

import json
from typing import Any

import orjson

from policies.errors import Invalid
from policies.writes import strict_json


def decode(body: bytes, *, max_signs: int = strict_json.MAX_SIGNS) -> Any:
    """Return the value of a JSON body without escapes; None for any other body.

    Only a value for which `has_all_texts` holds is what the strict reader would return.
    """
    if b"\\" in body:
        return None
    try:
        strict_json.check_signs(body, max_signs=max_signs)
        return orjson.loads(body)
    except (orjson.JSONDecodeError, Invalid):
        return None


def has_all_texts(body: bytes, count: int) -> bool:
    """Return whether the body of a value with this many texts, names of members included, has no more of them."""
    return body.count(b'"') == 2 * count


def encode(value: Any) -> bytes:
    """Return the value as JSON in UTF-8, without blanks."""
    return orjson.dumps(value)


def encode_ascii(value: Any) -> bytes:
    """Return the value as JSON in ASCII, without blanks."""
    body = orjson.dumps(value)
    return body if body.isascii() else json.dumps(value, separators=(",", ":")).encode()
