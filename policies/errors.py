"""Errors that services raise. Every interface translates them into responses of its protocol.

An error lists everything that is wrong: all problems with their pointers, or all missing privileges.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from policies.engine.alternatives import join_alternatives, sort_narrowest_first
from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems
from policies.engine.model import MissingPrivilege

#: Most alternatives that the message of a Forbidden names.
_MAX_NAMED_ALTERNATIVES = 3


class PolicyAppError(Exception):
    """Base of every expected error: a stable code and the status that HTTP interfaces answer."""

    code = "error"
    status = 400
    #: Headers of the response over HTTP.
    headers: Mapping[str, str] = MappingProxyType({})
    #: Further members of the problem over HTTP.
    members: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, detail: str) -> None:
        self.detail = detail
        super().__init__(detail)


class Invalid(PolicyAppError):
    """Input with problems (the first MAX_PROBLEMS of them); nothing was stored."""

    code = "invalid"
    status = 400

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = limit_problems(problems)
        super().__init__("; ".join(f"{problem.pointer or '/'}: {problem.detail}" for problem in self.problems))

    @classmethod
    def from_problem(cls, *, code: str, pointer: str, detail: str) -> "Invalid":
        """Return the error for a single problem."""
        return cls([Problem(code, pointer, detail)])


class Forbidden(PolicyAppError):
    """The caller lacks privileges; or nobody may do this, then `missing` is empty and the detail gives the reason.

    `missing` is the shortest list that would suffice, `missing_any` every such list, the narrowest first.
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
        """Return the refusal of several changes that are applied together or not at all."""
        refusal_list = list(refusals)
        missing = dict.fromkeys(missing_privilege for refusal in refusal_list for missing_privilege in refusal.missing)
        # If one of them has a detail beyond the missing privileges, the detail is that of all.
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
    """The object named in the request does not exist."""

    code = "not_found"
    status = 404


class Conflict(PolicyAppError):
    """The request contradicts stored data: a name already in use, or an object still referenced."""

    code = "conflict"
    status = 409


class GuardrailBroken(Conflict):
    """A write that would break a guardrail: its URN, and an example of what nobody may have, as JSON; None without."""

    def __init__(self, detail: str, *, guardrail: str, example: Mapping[str, Any] | None) -> None:
        self.guardrail = guardrail
        self.example = example
        super().__init__(detail)


class Stale(PolicyAppError):
    """The object has changed since the version that the caller read."""

    code = "stale"
    status = 412


class CursorExpired(PolicyAppError):
    """Events after the cursor were deleted by retention; the member `oldest` is the cursor from which all are there."""

    code = "cursor_expired"
    status = 410

    def __init__(self, *, oldest: str) -> None:
        self.members = {"oldest": oldest}
        super().__init__(f"Events after this cursor were deleted. The oldest that are kept follow {oldest}.")


class Busy(PolicyAppError):
    """Other work of the caller has not ended; it may ask again after the seconds in Retry-After."""

    code = "busy"
    status = 429
    headers = MappingProxyType({"Retry-After": "5"})


class Unavailable(PolicyAppError):
    """The facts for a decision cannot be loaded now; nothing is allowed meanwhile."""

    code = "unavailable"
    status = 503
