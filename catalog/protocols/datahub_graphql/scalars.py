"""Scalars: integers, which these clients also send as text, such as `"start": "0"` (clients.md 2.1), and times."""

import re
from collections.abc import Callable
from typing import Any

from ariadne import ScalarType
from graphql import FloatValueNode, GraphQLError, IntValueNode, StringValueNode, ValueNode

_INTEGER = re.compile(r"-?[0-9]{1,19}")


def _build_scalar(name: str, bits: int) -> ScalarType:
    """Return a scalar for integers of `bits` bits, parsed from numbers and text, serialized as numbers."""
    limit = 2 ** (bits - 1)

    def read(value: Any) -> int:
        number = value
        is_text = isinstance(value, str) and _INTEGER.fullmatch(value) is not None
        if is_text or (isinstance(value, float) and value.is_integer()):
            number = int(value)
        if not isinstance(number, int) or isinstance(number, bool) or not -limit <= number < limit:
            raise GraphQLError(f"{name} is a whole number of {bits} bits.")
        return number

    def read_literal(node: ValueNode, _variables: Any = None) -> int:
        is_number = isinstance(node, IntValueNode | StringValueNode | FloatValueNode)
        return read(node.value if is_number else None)  # type: ignore[attr-defined]  # narrowed one line above

    return ScalarType(name, serializer=_build_serializer(name, limit), value_parser=read, literal_parser=read_literal)


def _build_serializer(name: str, limit: int) -> Callable[[Any], int]:
    def write(value: Any) -> int:
        if not isinstance(value, int) or not -limit <= value < limit:
            raise GraphQLError(f"{name} cannot represent this value.")
        return int(value)

    return write


def _read_time(value: Any) -> str | int:
    """Return a time as it stands in the document; the check of the document reads it."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise GraphQLError("PolicyTime is a text or a whole number.")
    return value


def _read_time_literal(node: ValueNode, _variables: Any = None) -> str | int:
    if isinstance(node, IntValueNode):
        return int(node.value)
    return _read_time(node.value if isinstance(node, StringValueNode) else None)


_POLICY_TIME = ScalarType("PolicyTime", value_parser=_read_time, literal_parser=_read_time_literal)

# graphql-core has one Int for all schemas of a process; ours is the only schema.
BINDABLES = (_build_scalar("Int", 32), _build_scalar("Long", 64), _POLICY_TIME)
