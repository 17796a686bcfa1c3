"""Parser of request bodies: strict JSON, or 400 with every problem and its place."""

from typing import IO, Any

from rest_framework.parsers import BaseParser

from policies.writes import strict_json


class StrictJsonParser(BaseParser):
    """JSON in UTF-8 without duplicate names, numbers beyond a double, NUL, lone surrogates or unbounded nesting."""

    media_type = "application/json"

    def parse(self, stream: IO[Any], *_: Any, **__: Any) -> Any:
        """Return the parsed value; raises Invalid with every problem found."""
        return strict_json.loads(stream.read())
