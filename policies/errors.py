"""What a service can refuse with. Every door turns these into its own protocol's answers.

A refusal says everything that is wrong at once: all problems with their places, or all privileges that are missing.
"""

from collections.abc import Iterable, Sequence

from policies.engine.alternatives import join_alternatives, sort_narrowest_first
from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems
from policies.engine.model import Missing

#: How many alternatives the sentence of a refusal names.
_MAX_NAMED = 3


class PolicyAppError(Exception):
    """Base of every anticipated refusal: a stable code and the HTTP status that doors speaking HTTP answer."""

    code = "error"
    status = 400

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class Invalid(PolicyAppError):
    """The input is wrong in these places (the first MAX_PROBLEMS of them); nothing was stored."""

    code = "invalid"
    status = 400

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = limit_problems(problems)
        super().__init__("; ".join(f"{problem.pointer or '/'}: {problem.detail}" for problem in self.problems))

    @classmethod
    def one(cls, *, code: str, pointer: str, detail: str) -> "Invalid":
        """Return the refusal of a single problem."""
        return cls([Problem(code, pointer, detail)])


class Forbidden(PolicyAppError):
    """The caller lacks these privileges, or nobody may do this (then nothing is listed and the detail says why).

    `missing` is the shortest list that would be enough, `missing_any` every such list, the narrowest first.
    """

    code = "forbidden"
    status = 403

    def __init__(
        self, missing: Sequence[Missing], detail: str = "", *, missing_any: Iterable[Sequence[Missing]] = ()
    ) -> None:
        self.missing = tuple(missing)
        lists = [tuple(one) for one in missing_any] or [self.missing]
        self.missing_any = sort_narrowest_first(one for one in lists if one)
        self.explanation = detail
        named = ", or ".join(_name_all(one) for one in self.missing_any[:_MAX_NAMED])
        super().__init__(detail or (f"Missing: {named}." if named else "This is not allowed."))

    @classmethod
    def join(cls, refusals: Iterable["Forbidden"]) -> "Forbidden":
        """Return the refusal of several changes that are made together or not at all."""
        several = list(refusals)
        missing = dict.fromkeys(lack for one in several for lack in one.missing)
        # Where one of them says more than what is missing, all of them are said.
        detail = " ".join(map(str, several)) if any(one.explanation for one in several) else ""
        lists = join_alternatives([one.missing_any for one in several if one.missing_any])
        return cls(tuple(missing), detail, missing_any=lists)


def _name_all(lacking: Sequence[Missing]) -> str:
    named = lacking[:MAX_PROBLEMS]
    text = ", ".join(f"{item.privilege} on {item.entity}" if item.entity else item.privilege for item in named)
    return text if len(lacking) == len(named) else f"{text} and {len(lacking) - len(named)} more"


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
    """The facts for an answer cannot be loaded now; nothing is allowed in the meantime."""

    code = "unavailable"
    status = 503
