"""Lines of JSON, and why one cannot be used."""

import json
from typing import Any


class BadLine(Exception):
    """A line that is not what its file should hold; the message is a sentence."""


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object of a line. Raises BadLine."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLine("It is no JSON.") from error
    if not isinstance(document, dict):
        raise BadLine("It is no JSON object.")
    return document
