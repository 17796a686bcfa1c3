"""Reading a body: JSON that means one thing everywhere, or 400 saying what is wrong and where."""

from typing import IO, Any

from rest_framework.parsers import BaseParser

from policies.writes import strict_json


class StrictJsonParser(BaseParser):
    """JSON in UTF-8 without doubled names, numbers beyond a double, NUL, lone surrogates or endless nesting."""

    media_type = "application/json"

    def parse(self, stream: IO[Any], *_: Any, **__: Any) -> Any:
        """Return the value; raises Invalid with every problem found."""
        return strict_json.loads(stream.read())
