"""Statements of repairs, read word by word: nothing runs that is not one of those that our dialect writes.

A name may hold anything, so a text is never searched for words: what is not a name in quotation marks has to be one of
a few shapes, and a line on which a name does not end is none of ours.
"""

import re
from collections.abc import Iterator

from catalog.warehouses.connector import ConnectorProblem

_TOKEN = re.compile(r'\s*(?:("(?:[^"\0\r\n]|"")+")|([A-Za-z_][A-Za-z_0-9]*)|([(),.;]))')
_PRIVILEGE = r'[A-Z]+(?: PRIVILEGES)?(?: \( "(?: , ")* \))?'
_PRIVILEGES = rf"{_PRIVILEGE}(?: , {_PRIVILEGE})*"
_OBJECT = r'(?:TABLE|ALL TABLES IN SCHEMA|SCHEMA|DATABASE) "(?: \. ")*'
_GRANTEE = r'(?:PUBLIC|")'
_BY = r'(?: GRANTED BY ")?'
#: Statements as words, in which a name in quotation marks is a `"`. What a preview does not compare, none of them can
#: change: functions, settings.
_SHAPES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"GRANT {_PRIVILEGES} ON {_OBJECT} TO {_GRANTEE}",
        rf"REVOKE {_PRIVILEGES} ON {_OBJECT} FROM {_GRANTEE}(?: CASCADE)?",
        rf'GRANT " TO "{_BY}',
        rf'REVOKE " FROM "{_BY}(?: CASCADE)?',
        r'CREATE ROLE "',
        rf'ALTER DEFAULT PRIVILEGES FOR ROLE "(?: IN SCHEMA ")? REVOKE {_PRIVILEGES} ON TABLES FROM {_GRANTEE}',
        r'ALTER (?:TABLE|VIEW|MATERIALIZED VIEW|FOREIGN TABLE) "(?: \. ")* OWNER TO "',
        r'ALTER ROLE " RENAME TO "',
        r'SET ROLE "',
        r"RESET ROLE",
    )
)


def split_repair(repair: str) -> list[str]:
    """Return the lines of a repair that are statements. Raises ConnectorProblem for one that is not of ours."""
    # Split as the dialect joins: a name may hold any other character that ends a line somewhere.
    lines = [line for line in repair.split("\n") if line.strip() and not line.startswith("--")]
    for line in lines:
        for shape in _read_shapes(line):
            if not any(pattern.fullmatch(shape) for pattern in _SHAPES):
                raise ConnectorProblem(f"This is no statement of a repair, so it is not run: {line!r}.")
    return lines


def _read_shapes(line: str) -> Iterator[str]:
    """Yield the words of each statement of a line, with a `"` for each name. Raises ConnectorProblem."""
    words: list[str] = []
    position = 0
    text = line.rstrip()
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ConnectorProblem(f"This is no statement of a repair, so it is not run: {line!r}.")
        position = token.end()
        name, word, sign = token.groups()
        if sign == ";":
            yield " ".join(words)
            words = []
        else:
            words.append('"' if name else word or sign)
    if words:
        raise ConnectorProblem(f"This statement does not end, so it is not run: {line!r}.")
