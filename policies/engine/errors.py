"""Errors in input or facts, each with every problem that was found.

A refusal is a value (`Decision`), never an exception; these errors are for broken documents and missing facts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

#: Most problems that one error lists; checks stop there, so that a response is bounded like its request.
MAX_PROBLEMS = 100
#: Longest detail and longest pointer of a problem, in characters: both may repeat input.
MAX_DETAIL = 1_000
MAX_POINTER = 1_000

#: Code of the entry that ends a truncated list of problems.
MORE_PROBLEMS = "problems.more"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a document: a stable code, a JSON pointer into the input, and a sentence.

    Pointer and sentence are truncated to MAX_POINTER and MAX_DETAIL characters, since they may repeat input.
    """

    code: str
    pointer: str
    detail: str

    def __post_init__(self) -> None:
        if len(self.pointer) > MAX_POINTER:
            object.__setattr__(self, "pointer", f"{self.pointer[: MAX_POINTER - 1]}…")
        if len(self.detail) > MAX_DETAIL:
            object.__setattr__(self, "detail", f"{self.detail[: MAX_DETAIL - 1]}…")


def limit_problems(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Return the first MAX_PROBLEMS problems; if there were more, a last entry says so."""
    if len(problems) <= MAX_PROBLEMS or problems[MAX_PROBLEMS].code == MORE_PROBLEMS:
        return tuple(problems[: MAX_PROBLEMS + 1])
    detail = f"There are more problems; the first {MAX_PROBLEMS} are listed."
    return (*problems[:MAX_PROBLEMS], Problem(MORE_PROBLEMS, "", detail))


def quote(value: object) -> str:
    """Return a value as a sentence quotes it: a long text is truncated, a list or an object is named by its type."""
    if isinstance(value, str):
        return repr(value) if len(value) <= _MAX_QUOTED_LENGTH else f"{value[:_MAX_QUOTED_LENGTH]!r}…"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value)
    return text if len(text) <= _MAX_QUOTED_LENGTH else f"{text[:_MAX_QUOTED_LENGTH]}…"


#: Most characters of input that a sentence repeats.
_MAX_QUOTED_LENGTH = 100


class EngineError(Exception):
    """Base of everything the engine raises."""

    code = "engine.error"


class InvalidPolicy(EngineError):
    """A policy document with all its problems (at most MAX_PROBLEMS), never only the first."""

    code = "policy.invalid"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = limit_problems(problems)
        super().__init__("; ".join(f"{problem.pointer}: {problem.detail}" for problem in self.problems))


class InvalidQuestion(EngineError):
    """A contradictory or incomplete question, with all its problems and their pointers."""

    code = "question.invalid"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = limit_problems(problems)
        super().__init__("; ".join(f"{problem.pointer}: {problem.detail}" for problem in self.problems))


class MissingFact(EngineError):
    """A tested facet was not loaded.

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
        super().__init__(f"There is no operation {quote(operation)}.")


class UnknownFamily(EngineError):
    """A policy family that is not registered."""

    code = "family.unknown"

    def __init__(self, family: str) -> None:
        self.family = family
        super().__init__(f"There is no policy family {quote(family)}.")
