"""Refusals of requests: each has a code of its own at the top of the problem (contract-requests.md section 2)."""

from collections.abc import Sequence
from typing import Any

from policies.engine.errors import Problem
from policies.errors import Conflict, Forbidden, Invalid


class RequestInvalid(Invalid):
    """A request with problems; its code is that of the first one."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems)
        self.code = self.problems[0].code
        self.members = {"code": self.code}


class RequestConflict(Conflict):
    """A request that contradicts what is stored, with members of the problem beside its code."""

    def __init__(self, code: str, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.code = code
        self.members = members


class RequestRefused(Forbidden):
    """Something that this caller may not do with a request, or that nobody may ask for."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__((), detail)
        self.code = code
