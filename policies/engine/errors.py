"""What can be wrong with input or facts, said completely.

A refusal is a value (`Decision`), never an exception; these are for broken documents and missing facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a document: a stable code, a JSON pointer into what was sent, and a sentence."""

    code: str
    pointer: str
    detail: str


class EngineError(Exception):
    """Base of everything the engine raises."""

    code = "engine.error"


class InvalidPolicy(EngineError):
    """A policy document with every problem that was found in it, never only the first."""

    code = "policy.invalid"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.pointer}: {problem.detail}" for problem in self.problems))


class InvalidQuestion(EngineError):
    """A question that contradicts itself or leaves something out, with every problem and its place."""

    code = "question.invalid"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.pointer}: {problem.detail}" for problem in self.problems))


class MissingFact(EngineError):
    """A facet was tested that nobody loaded.

    An empty set would be wrong: NOT_EQUALS matches an entity without values, so a lookup that failed would grant.
    """

    code = "fact.missing"

    def __init__(self, field: str, urn: str) -> None:
        self.field = field
        self.urn = urn
        super().__init__(f"The {field} of {urn or 'the resource'} was not loaded.")


class UnknownOperation(EngineError):
    """An operation that no family knows."""

    code = "operation.unknown"

    def __init__(self, operation: str) -> None:
        self.operation = operation
        super().__init__(f"There is no operation {operation!r}.")


class UnknownFamily(EngineError):
    """A policy family that is not registered."""

    code = "family.unknown"

    def __init__(self, family: str) -> None:
        self.family = family
        super().__init__(f"There is no policy family {family!r}.")
