"""A context variable that has a value inside a block."""

from contextvars import ContextVar
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundValue(Generic[Value]):
    """A block inside which a context variable has a value.

    A class, because a generator would take as long as what is done with the value in a decision.
    """

    __slots__ = ("_token", "_value", "_variable")

    def __init__(self, variable: ContextVar[Value], value: Value) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        """Begin the block."""
        self._token = self._variable.set(self._value)

    def __exit__(self, *_error: object) -> None:
        """End the block: the variable has the value from before again."""
        self._variable.reset(self._token)
