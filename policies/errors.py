"""What a service can refuse with. Every door turns these into its own protocol's answers.

A refusal says everything that is wrong at once: all problems with their places, or all privileges that are missing.
"""

from collections.abc import Iterable, Sequence

from policies.engine.alternatives import join_alternatives, sort_narrowest_first
from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems
from policies.engine.model import MissingPrivilege

#: How many alternatives the sentence of a refusal names.
_MAX_NAMED_ALTERNATIVES = 3


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
    def from_problem(cls, *, code: str, pointer: str, detail: str) -> "Invalid":
        """Return the refusal of a single problem."""
        return cls([Problem(code, pointer, detail)])


class Forbidden(PolicyAppError):
    """The caller lacks these privileges, or nobody may do this (then nothing is listed and the detail says why).

    `missing` is the shortest list that would be enough, `missing_any` every such list, the narrowest first.
    """

    code = "forbidden"
    status = 403

    def __init__(
        self,
        missing: Sequence[MissingPrivilege],
        detail: str = "",
        *,
        missing_any: Iterable[Sequence[MissingPrivilege]] = (),
    ) -> None:
        self.missing = tuple(missing)
        alternatives = [tuple(alternative) for alternative in missing_any] or [self.missing]
        self.missing_any = sort_narrowest_first(alternative for alternative in alternatives if alternative)
        self.explanation = detail
        wording = ", or ".join(_name_missing(alternative) for alternative in self.missing_any[:_MAX_NAMED_ALTERNATIVES])
        super().__init__(detail or (f"Missing: {wording}." if wording else "This is not allowed."))

    @classmethod
    def join(cls, refusals: Iterable["Forbidden"]) -> "Forbidden":
        """Return the refusal of several changes that are made together or not at all."""
        refusal_list = list(refusals)
        missing = dict.fromkeys(missing_privilege for refusal in refusal_list for missing_privilege in refusal.missing)
        # Where one of them says more than what is missing, all of them are said.
        detail = " ".join(map(str, refusal_list)) if any(refusal.explanation for refusal in refusal_list) else ""
        alternatives = join_alternatives([refusal.missing_any for refusal in refusal_list if refusal.missing_any])
        return cls(tuple(missing), detail, missing_any=alternatives)


def _name_missing(missing_privileges: Sequence[MissingPrivilege]) -> str:
    named_privileges = missing_privileges[:MAX_PROBLEMS]
    text = ", ".join(
        f"{item.privilege} on {item.entity}" if item.entity else item.privilege for item in named_privileges
    )
    return (
        text
        if len(missing_privileges) == len(named_privileges)
        else f"{text} and {len(missing_privileges) - len(named_privileges)} more"
    )


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
