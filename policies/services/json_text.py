"""JSON that means one thing everywhere: read strictly, or refused saying what is wrong and where."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from policies.engine.errors import Problem
from policies.engine.families.document import escape, is_clean
from policies.errors import Invalid

#: Levels of lists and objects inside one another; nothing that is asked or stored here comes near.
DEEPEST = 64

# Only an escape can bring in NUL or half of a surrogate pair: raw ones are not JSON and not UTF-8.
_SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def loads(body: bytes, *, what: str = "The body") -> Any:
    """Return the value that a body in UTF-8 holds; raises Invalid with every problem found.

    No doubled names, no numbers beyond a double, no NUL, no lone surrogates, no endless nesting. `what` is what a
    sentence calls the body.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _broken(f"{what} is not UTF-8: byte {error.start} belongs to no character.") from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _broken(f"{what} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise _too_deep("") from None
    except ValueError as error:
        raise _broken(f"{what} is not JSON: {error}.") from None
    _check_depth(value)
    if _SUSPICIOUS.search(text) and (problems := list(_unclean(value, ""))):
        raise Invalid(problems)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        doubled = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the name {doubled!r} stands twice in one object")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is beyond every number that can be kept")
    return number


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [child for one in level for child in _children(one) if isinstance(child, dict | list)]
        if not level:
            return
    raise _too_deep("")


def _children(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _unclean(value: Any, pointer: str) -> Iterator[Problem]:
    detail = "A text holds no NUL and no half of a surrogate pair."
    if isinstance(value, str) and not is_clean(value):
        yield Problem("text.invalid", pointer, detail)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unclean(item, f"{pointer}/{index}")
    elif isinstance(value, dict):
        for name, item in value.items():
            if is_clean(name):
                yield from _unclean(item, f"{pointer}/{escape(name)}")
            else:
                yield Problem("text.invalid", pointer, detail)


#: Made once: making one takes as long as reading a short body.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite)


def _broken(detail: str) -> Invalid:
    return Invalid.one(code="json.invalid", pointer="", detail=detail)


def _too_deep(pointer: str) -> Invalid:
    return Invalid.one(code="json.deep", pointer=pointer, detail=f"More than {DEEPEST} levels inside one another.")
