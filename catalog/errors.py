"""What the catalog refuses with: the site's own refusals, and the codes of problems with metadata.

Every refusal is one of `policies.errors`, so that a door translates one tree of errors and no more.
"""

from collections.abc import Iterable

from policies.engine.errors import Problem

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


def json_pointer(steps: Iterable[str | int]) -> str:
    """Return the JSON pointer (RFC 6901) that these keys and indexes make."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def add_pointer_prefix(problems: Iterable[Problem], prefix: str) -> list[Problem]:
    """Return the problems of a part of what was sent, with pointers into the whole."""
    return [Problem(problem.code, prefix + problem.pointer, problem.detail) for problem in problems]
