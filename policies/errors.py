"""What a service can refuse with. Every door turns these into its own protocol's answers.

A refusal says everything that is wrong at once: all problems with their places, or all privileges that are missing.
"""

from collections.abc import Sequence

from policies.engine.errors import Problem
from policies.engine.model import Missing


class PolicyAppError(Exception):
    """Base of every anticipated refusal: a stable code and the HTTP status that doors speaking HTTP answer."""

    code = "error"
    status = 400

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class Invalid(PolicyAppError):
    """The input is wrong in these places; nothing was stored."""

    code = "invalid"
    status = 400

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.pointer or '/'}: {problem.detail}" for problem in self.problems))

    @classmethod
    def one(cls, *, code: str, pointer: str, detail: str) -> "Invalid":
        """Return the refusal of a single problem."""
        return cls([Problem(code, pointer, detail)])


class Forbidden(PolicyAppError):
    """The caller lacks these privileges, or nobody may do this (then nothing is listed and the detail says why)."""

    code = "forbidden"
    status = 403

    def __init__(self, missing: Sequence[Missing], detail: str = "") -> None:
        self.missing = tuple(missing)
        named = ", ".join(
            f"{item.privilege} on {item.entity}" if item.entity else item.privilege for item in self.missing
        )
        super().__init__(detail or (f"Missing: {named}." if named else "This is not allowed."))


class NotFound(PolicyAppError):
    """The object named in the path is not there."""

    code = "not_found"
    status = 404


class Conflict(PolicyAppError):
    """What was asked contradicts what is stored: a known name again, or something still in use."""

    code = "conflict"
    status = 409


class Stale(PolicyAppError):
    """The object has moved on since the version that the caller saw."""

    code = "stale"
    status = 412


class Unavailable(PolicyAppError):
    """The facts for an answer cannot be had now; nothing is allowed meanwhile."""

    code = "unavailable"
    status = 503
