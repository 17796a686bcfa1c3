"""Numbers as these clients send them: also as text, such as `"start": "0"` (clients.md 2.1)."""

import re
from collections.abc import Callable
from typing import Any

from ariadne import ScalarType
from graphql import FloatValueNode, GraphQLError, IntValueNode, StringValueNode, ValueNode

_WHOLE = re.compile(r"-?[0-9]{1,19}")


def _scalar(name: str, bits: int) -> ScalarType:
    """Return a scalar for whole numbers of so many bits, in from numbers and text, out as numbers."""
    bound = 2 ** (bits - 1)

    def read(value: Any) -> int:
        found = value
        is_text = isinstance(value, str) and _WHOLE.fullmatch(value) is not None
        if is_text or (isinstance(value, float) and value.is_integer()):
            found = int(value)
        if not isinstance(found, int) or isinstance(found, bool) or not -bound <= found < bound:
            raise GraphQLError(f"{name} is a whole number of {bits} bits.")
        return found

    def read_literal(node: ValueNode, _variables: Any = None) -> int:
        is_number = isinstance(node, IntValueNode | StringValueNode | FloatValueNode)
        return read(node.value if is_number else None)  # type: ignore[attr-defined]  # narrowed one line above

    return ScalarType(name, serializer=_written(name, bound), value_parser=read, literal_parser=read_literal)


def _written(name: str, bound: int) -> Callable[[Any], int]:
    def write(value: Any) -> int:
        if not isinstance(value, int) or not -bound <= value < bound:
            raise GraphQLError(f"{name} cannot represent this value.")
        return int(value)

    return write


# The library has one Int for every schema of a process; ours is the only one.
BINDABLES = (_scalar("Int", 32), _scalar("Long", 64))
