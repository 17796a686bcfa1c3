"""Names of those who have grants in a source: roles, users, and what holds privileges as roles do.

The name of a user or of an account's role is as the source has it. Any other begins with its type, as SQL writes it,
and the parts of its name follow, each after SEPARATOR: a database role is one of its database,
and a group may have the name of a role.
"""

from catalog.sql_text import quote_text

#: Grantees that stand for everybody in one of the sources.
EVERYBODY_NAMES = ("PUBLIC", "allUsers", "allAuthenticatedUsers", "account users")

#: Separator of the parts of a name; any printable character may be in a part.
SEPARATOR = "\x1f"

GROUP = "GROUP"
DATABASE_ROLE, APPLICATION_ROLE, INSTANCE_ROLE = "DATABASE ROLE", "APPLICATION ROLE", "INSTANCE ROLE"
CATALOG_ROLE = "CATALOG ROLE"
SHARE, APPLICATION, RECIPIENT = "SHARE", "APPLICATION", "RECIPIENT"

#: Roles that are parts of something else.
SCOPED_ROLE_TYPES = (DATABASE_ROLE, APPLICATION_ROLE, INSTANCE_ROLE, CATALOG_ROLE)
#: Types that exports.json does not write before a name.
UNWRITTEN_TYPES = (DATABASE_ROLE, CATALOG_ROLE, GROUP)
#: Grantees outside of the account's roles and users.
OUTSIDE_TYPES = (SHARE, APPLICATION, RECIPIENT)


def join_name(principal_type: str, *parts: str) -> str:
    """Return the name of a principal of such a type; null when a part is. All are expressions of SQL."""
    separator = quote_text(SEPARATOR)
    return f"concat({f', {separator}, '.join((principal_type, *parts))})"


def dotted_name(name: str) -> str:
    """Return names as exports.json writes them: DATABASE.ROLE, SHARE NAME, and those without a type as they are.

    `name` and the result are expressions of SQL.
    """
    separator = quote_text(SEPARATOR)
    unwritten_type = quote_text(f"^({'|'.join(UNWRITTEN_TYPES)}){SEPARATOR}")
    bare_name = f"regexp_replace({name}, {unwritten_type}, '')"
    typed_name = f"regexp_replace({name}, {quote_text(f'^([^{SEPARATOR}]*){SEPARATOR}')}, {quote_text('$1 ')})"
    words = f"CASE WHEN {bare_name} <> {name} THEN {bare_name} ELSE {typed_name} END"
    return f"CASE WHEN contains({name}, {separator}) THEN replace({words}, {separator}, '.') ELSE {name} END"


def is_outside(name: str) -> str:
    """Return a condition: the principal is none of the account's roles or users."""
    pattern = f"^({'|'.join(OUTSIDE_TYPES)}){SEPARATOR}"
    return f"{name} RLIKE {quote_text(pattern)}"


def is_group(name: str) -> str:
    """Return a condition: the principal is a group that holds privileges as a role does."""
    return f"startswith({name}, {quote_text(f'{GROUP}{SEPARATOR}')})"


def split_principal(name: str) -> tuple[str, list[str]]:
    """Return the type of a principal, '' for a role of the account or a user, and the parts of its name."""
    principal_type, *parts = name.split(SEPARATOR)
    return (principal_type, parts) if parts else ("", [name])


def describe_principal(name: str) -> str:
    """Return a name for people."""
    principal_type, parts = split_principal(name)
    return f"{principal_type.lower()} {'.'.join(parts)}".strip()
