"""Strict parsing of JSON; ambiguous or oversized input is refused with the problem and its pointer."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn

from policies.engine.errors import MAX_PROBLEMS, Problem, quote
from policies.engine.families.document_reader import escape, is_clean
from policies.errors import Invalid

#: Deepest nesting of lists and objects; no legitimate body comes near.
MAX_DEPTH = 64

#: Most commas and opening brackets of a body: parsing time is proportional to them.
MAX_SIGNS = 250_000
#: Most names of one object.
MAX_OBJECT_NAMES = 10_000

# Only an escape can produce NUL or a lone surrogate: raw ones are invalid JSON and invalid UTF-8.
_SUSPICIOUS_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")


def loads(
    body: bytes,
    *,
    label: str = "The body",
    max_signs: int = MAX_SIGNS,
    max_depth: int = MAX_DEPTH,
    is_lenient: bool = False,
) -> Any:
    """Return the JSON value of a UTF-8 body; raises Invalid with every problem found.

    Refused are NaN and infinities, nesting deeper than `max_depth`, more than `max_signs` commas and brackets; unless
    `is_lenient` (for clients that other products accept), also duplicate names, numbers beyond a double, NUL, lone
    surrogates and objects of more than MAX_OBJECT_NAMES names. `label` names the body in messages.
    """
    check_signs(body, max_signs=max_signs, label=label)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise _syntax_error(f"{label} is not UTF-8: byte {error.start} belongs to no character.") from None
    try:
        value = (_LENIENT_DECODER if is_lenient else _DECODER).decode(text)
    except json.JSONDecodeError as error:
        raise _syntax_error(f"{label} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise _depth_error(max_depth) from None
    except ValueError as error:
        raise _syntax_error(f"{label} is not JSON: {error}.") from None
    # Later readers walk the value recursively, on deeper stacks than this one.
    if is_deeper(value, max_depth, text=text):
        raise _depth_error(max_depth)
    is_suspicious = not is_lenient and _SUSPICIOUS_ESCAPE.search(text)
    if is_suspicious and (problems := list(islice(find_unclean_texts(value, ""), MAX_PROBLEMS + 1))):
        raise Invalid(problems)
    return value


def check_signs(body: bytes, *, max_signs: int = MAX_SIGNS, label: str = "The body") -> None:
    """Raise Invalid for a body with more than `max_signs` commas and opening brackets, without parsing it."""
    if len(body) > max_signs and body.count(b",") + body.count(b"[") + body.count(b"{") > max_signs:
        raise Invalid.from_problem(
            code="json.large", pointer="", detail=f"{label} has more than {max_signs} commas and brackets."
        )


def is_deeper(value: Any, levels: int, *, text: str) -> bool:
    """Whether lists and objects are nested more than `levels` levels below the value, which `text` was parsed to."""
    if text.count("[") + text.count("{") <= levels:
        return False
    level = [value]
    for _ in range(levels + 1):
        level = _list_containers(level)
        if not level:
            return False
    return True


def has_longer_list(value: Any, max_length: int) -> bool:
    """Whether a list anywhere in the value has more than `max_length` members; stops at the first such list."""
    level = [value]
    while level:
        if any(len(container) > max_length for container in level if isinstance(container, list)):
            return True
        level = _list_containers(level)
    return False


def _list_containers(level: list[Any]) -> list[Any]:
    """Return the lists and objects directly inside those of one level."""
    return [
        child
        for container in level
        for child in (
            container.values() if isinstance(container, dict) else container if isinstance(container, list) else ()
        )
        if isinstance(child, dict | list)
    ]


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MAX_OBJECT_NAMES:
        raise ValueError(f"an object has up to {MAX_OBJECT_NAMES} names, not {len(pairs)}")
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(name for name, _ in pairs)
        duplicate_name = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the name {quote(duplicate_name)} stands twice in one object")
    return members


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and infinities, as `parse_constant` of a decoder."""
    raise ValueError(f"{name} is no number")


def parse_finite(text: str) -> float:
    """Return a number, as `parse_float` of a decoder. Raises ValueError for one beyond a double."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is beyond every number that can be kept")
    return number


def find_unclean_texts(value: Any, pointer: str) -> Iterator[Problem]:
    """Yield a problem for each text in a value that holds NUL or half of a surrogate pair."""
    detail = "A text holds no NUL and no half of a surrogate pair."
    if isinstance(value, str) and not is_clean(value):
        yield Problem("text.invalid", pointer, detail)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_unclean_texts(item, f"{pointer}/{index}")
    elif isinstance(value, dict):
        for name, item in value.items():
            if is_clean(name):
                yield from find_unclean_texts(item, f"{pointer}/{escape(name)}")
            else:
                yield Problem("text.invalid", pointer, detail)


# Created once: that takes as long as parsing a short body.
_LENIENT_DECODER = json.JSONDecoder(parse_constant=refuse_constant)
_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=refuse_constant, parse_float=parse_finite)


def _syntax_error(detail: str) -> Invalid:
    return Invalid.from_problem(code="json.invalid", pointer="", detail=detail)


def _depth_error(max_depth: int) -> Invalid:
    return Invalid.from_problem(
        code="json.deep", pointer="", detail=f"This is nested too deeply: more than {max_depth} levels."
    )
