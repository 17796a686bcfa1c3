"""Kinds of changes, one class each, in the room of what it changes: the registry `change_kinds` (docs/adr/0057).

A change is a value: it is read from JSON and stored as JSON (`POST /api/v1/preview`), checked and staged without a
write, and applied by the service that its pages and interfaces call, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Self

from rest_framework import serializers

from policies import registries
from policies.changes.worlds import StagedWorld
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.models import Gate

#: The registry whose entries are tuples of classes of changes.
REGISTRY = "change_kinds"

ShapeField = serializers.Field[Any, Any, Any, Any]


class Change(ABC):
    """One change. Its fields are those of its JSON; a kind with one field is that value in JSON."""

    #: Name in the API, and the gate that its write passes.
    kind: ClassVar[str]
    gate: ClassVar[Gate] = Gate.PEOPLE
    #: The place, in its JSON, of what it changes.
    subject_pointer: ClassVar[str] = ""
    #: Whether the API takes it; the others are for pages, which ask before they delete.
    is_offered: ClassVar[bool] = True
    #: Whether a proof about policies says everything of it, and whether logged requests can be answered after it.
    is_provable: ClassVar[bool] = False
    is_replayable: ClassVar[bool] = True

    @classmethod
    @abstractmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field that validates its JSON; `kwargs` are those of every field."""

    @classmethod
    def read(cls, value: Any) -> Self:
        """Return the change that a validated value states."""
        # Each kind is a dataclass, whose fields are those of its JSON.
        build: Callable[..., Self] = cls
        if not isinstance(value, Mapping):
            return build(value)
        return build(**{name: tuple(item) if isinstance(item, list) else item for name, item in value.items()})

    def to_json(self) -> Any:
        """Return the value in JSON, which `build_shape` and `read` take back."""
        shape = self.build_shape()
        if not isinstance(shape, serializers.Serializer):
            return getattr(self, fields(self)[0].name)  # type: ignore[arg-type]  # each kind is a dataclass
        values = shape.to_representation(self)
        return {name: item for name, item in values.items() if item is not None or shape.fields[name].required}

    @property
    @abstractmethod
    def subject(self) -> str:
        """The URN of what it changes; empty for something new that has none yet."""

    def assign_urn(self) -> "Change":
        """Return the change with all that it leaves to chance, as the URN of a new policy."""
        return self

    @abstractmethod
    def stage(self, world: StagedWorld) -> None:
        """Check the change against a world, as its write would, and take it over into the world.

        Raises what the write raises, but for what is judged at the end of a write: guardrails, the last who can manage
        policies, and privileges that whoever makes the change may not give. Problems have their places in the value.
        """

    def check(self, by: Actor) -> None:
        """Check the change alone, as its write by this actor would. Raises as `stage`."""
        world = StagedWorld(by)
        self.stage(world)
        for error in world.check_facts().values():
            raise error

    @abstractmethod
    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:
        """Write it by the service of what it changes. `reason` is kept where something is given until an end."""

    @abstractmethod
    def find_inverse(self) -> "Sequence[Change] | None":
        """Return what takes it back, read from what is stored before it is applied; nothing if it changes nothing.

        None where it cannot be taken back.
        """

    @abstractmethod
    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence on what it does; `names` are those of `list_urns`, a URN without one stands for itself."""

    def list_urns(self) -> list[str]:
        """Return the URNs that its sentence names."""
        return [self.subject] if self.subject else []

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of the write with its place in the value of this change."""
        return problem


@cache
def load_kinds() -> Mapping[str, type[Change]]:
    """Return the kinds of changes by name. Raises TypeError when a package adds something else, or a known name."""
    kinds: dict[str, type[Change]] = {}
    for entry in registries.load_entries(REGISTRY).values():
        for kind in entry:
            if not issubclass(kind, Change) or kind.kind in kinds:
                raise TypeError(f"{kind} is no new kind of change.")
            kinds[kind.kind] = kind
    return kinds


def read_change(change: Mapping[str, Any]) -> Change:
    """Return the change that an object with one key states, kind → value; its shape has been checked."""
    ((kind, value),) = change.items()
    return load_kinds()[kind].read(value)


def write_change(change: Change) -> dict[str, Any]:
    """Return a change as an object with one key, kind → value, that can be stored as JSON."""
    return {change.kind: change.to_json()}


def join_names(urns: Sequence[str], names: Mapping[str, str]) -> str:
    """Return the names of what a sentence lists."""
    texts = [names.get(urn) or urn for urn in urns]
    return " and ".join(part for part in (", ".join(texts[:-1]), texts[-1] if texts else "") if part)
