"""Patterns of files in `exports.json`: they stay inside the folder, and name the same files here and for Spark."""

import re

#: What has a meaning of its own in Spark's patterns, and could name `..` without these two characters side by side.
_OTHER_SIGNS = "\\{}[]"
#: The beginning of an address; a drive of Windows begins alike.
_SCHEME_PATTERN = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:")
#: Files with such names are not read by Spark.
_HIDDEN_PREFIXES = ("_", ".")


def find_pattern_problem(pattern: str) -> str:
    """Return what a pattern of files has to be instead, or ""."""
    if not pattern.strip() or "\0" in pattern:
        return "has to name files."
    if pattern.startswith("/") or _SCHEME_PATTERN.match(pattern):
        return "has to be a path in the folder of the exports, and not an address or an absolute path."
    if any(part in ("", ".", "..") for part in pattern.split("/")):
        return "has to stay inside the folder of the exports: no part of it may be empty, '.' or '..'."
    if any(sign in pattern for sign in _OTHER_SIGNS):
        return f"may have * and ? for any characters, and none of {' '.join(_OTHER_SIGNS)}; list more patterns instead."
    return ""


def match_path(pattern: str, path: str) -> bool:
    """Whether a pattern names the file at a path in the folder, or a folder that the file is in."""
    parts, pattern_parts = path.split("/"), pattern.split("/")
    if len(parts) < len(pattern_parts) or any(
        part.startswith(_HIDDEN_PREFIXES) for part in parts[len(pattern_parts) :]
    ):
        return False
    return all(map(_match_part, pattern_parts, parts))


def _match_part(pattern: str, part: str) -> bool:
    expression = "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in pattern)
    return re.fullmatch(expression, part, re.DOTALL) is not None
