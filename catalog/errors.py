"""Errors of the catalog: codes of problems with metadata, and their pointers.

Every refusal is one of `policies.errors`, so that an interface translates only one hierarchy of errors.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from policies.engine.errors import MORE_PROBLEMS, Problem

if TYPE_CHECKING:
    from pydantic import ValidationError  # a process answers decisions before it has imported this

URN_INVALID = "urn.invalid"
TYPE_MISMATCH = "type.mismatch"
CHANGE_UNKNOWN = "change.unknown"
ASPECT_NAME = "aspect.name"
ASPECT_EXISTS = "aspect.exists"
ENTITY_EXISTS = "entity.exists"
DOCUMENT_JSON = "aspect.json"
DOCUMENT_TEXT = "aspect.text"
DOCUMENT_SHAPE = "aspect.shape"
PATCH_INVALID = "patch.invalid"


#: Maximum number of problems of a document that are listed one by one.
_MAX_VALIDATION_PROBLEMS = 1_000


def list_validation_problems(error: "ValidationError", code: str, pointer: str = "") -> list[Problem]:
    """Return the problems that pydantic found in the part of a payload at a pointer, with codes `<code>.<type>`."""
    if error.error_count() > _MAX_VALIDATION_PROBLEMS:
        return [Problem(MORE_PROBLEMS, "", f"The document has {error.error_count()} problems, too many to name.")]
    return [
        Problem(f"{code}.{problem['type']}", pointer + json_pointer(problem["loc"]), problem["msg"])
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def json_pointer(steps: Iterable[str | int]) -> str:
    """Return the JSON pointer (RFC 6901) of these keys and indexes."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def add_pointer_prefix(problems: Iterable[Problem], prefix: str) -> list[Problem]:
    """Return the problems of a part of the payload with pointers into the whole."""
    return [Problem(problem.code, prefix + problem.pointer, problem.detail) for problem in problems]
