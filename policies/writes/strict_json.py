"""JSON that means one thing everywhere: read strictly, or refused saying what is wrong and where."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from policies.engine.errors import MAX_PROBLEMS, Problem, quote
from policies.engine.families.document_reader import escape, is_clean
from policies.errors import Invalid

#: Levels of lists and objects inside one another; nothing that is asked or stored here comes near.
DEEPEST = 64

#: Most commas and opening brackets of a body: reading it takes as long as these are many.
MAX_SIGNS = 250_000
#: Most names of one object.
MAX_NAMES = 10_000

# Only an escape can bring in NUL or half of a surrogate pair: raw ones are not JSON and not UTF-8.
_SUSPICIOUS = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def loads(body: bytes, *, what: str = "The body", most: int = MAX_SIGNS) -> Any:
    """Return the value that a body in UTF-8 holds; raises Invalid with every problem found.

    No doubled names, no numbers beyond a double, no NUL, no lone surrogates, no endless nesting, no object of more
    than MAX_NAMES names, no more than `most` commas and brackets. `what` is what a sentence calls the body.
    """
    check_signs(body, most=most, what=what)
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
    if is_deeper(value, DEEPEST):
        raise _too_deep("")
    if _SUSPICIOUS.search(text) and (problems := list(islice(_unclean(value, ""), MAX_PROBLEMS + 1))):
        raise Invalid(problems)
    return value


def check_signs(body: bytes, *, most: int = MAX_SIGNS, what: str = "The body") -> None:
    """Raise Invalid for a text with more commas and opening brackets than `most`, before it is read."""
    if len(body) > most and body.count(b",") + body.count(b"[") + body.count(b"{") > most:
        raise Invalid.one(code="json.large", pointer="", detail=f"{what} has more than {most} commas and brackets.")


def is_deeper(value: Any, levels: int) -> bool:
    """Whether a list or an object stands more than so many levels below a value."""
    level = [value]
    for _ in range(levels + 1):
        level = _list_containers(level)
        if not level:
            return False
    return True


def has_longer_list(value: Any, most: int) -> bool:
    """Whether a list anywhere in a value has more members than `most`; none of a longer one is looked at."""
    level = [value]
    while level:
        if any(len(one) > most for one in level if isinstance(one, list)):
            return True
        level = _list_containers(level)
    return False


def _list_containers(level: list[Any]) -> list[Any]:
    """Return the lists and objects that stand directly inside those of one level."""
    return [
        child
        for one in level
        for child in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
        if isinstance(child, dict | list)
    ]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_NAMES:
        raise ValueError(f"an object has up to {MAX_NAMES} names, not {len(pairs)}")
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        doubled = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the name {quote(doubled)} stands twice in one object")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is beyond every number that can be kept")
    return number


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
